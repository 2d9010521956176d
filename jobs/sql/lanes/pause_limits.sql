-- pause_limits: start no more jobs of the limits by key (kind 0) of these active jobs before a time.
UPDATE ojs_limit AS m SET paused_until = greatest(m.paused_until, %(until)s::timestamptz)
 WHERE m.kind = 0
   AND m.id = ANY (ARRAY(SELECT unnest(x.limits) FROM ojs_lease AS x
                          WHERE x.id = ANY (%(jobs)s::uuid[])))
RETURNING m.id
