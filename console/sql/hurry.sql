-- hurry: let no statement of this transaction take longer than `most_ms`.
SELECT set_config('statement_timeout', %(most_ms)s::text, true)
