-- hurry: limit each statement of this transaction to `most_ms`.
SELECT set_config('statement_timeout', %(most_ms)s::text, true)
