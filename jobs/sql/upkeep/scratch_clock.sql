-- scratch_clock: let it be this time in the scratch schema.
SELECT set_config('ojs.clock', %(at)s::text, false)
