-- scratch_clock: set the clock of the scratch schema.
SELECT set_config('ojs.clock', %(at)s::text, false)
