-- moving_batch: the packed jobs of a tenant in the order of the list, with the members that decide
-- their lanes; `image` as text, so that no number in it changes. Packed jobs are the first of the
-- list, at most `size`.
-- Locks: none.
SELECT m.n, m.job_id, m.image -> 'job' ->> 'type', m.image -> 'job' ->> 'queue',
       (m.image -> 'job' ->> 'priority')::int, m.image -> 'job' ->> 'version',
       (m.image -> 'limits')::text, coalesce((m.image ->> 'nulls')::boolean, false), m.image::text
  FROM (SELECT * FROM ojs_moving_job AS x WHERE x.tenant = %(tenant)s::text
         ORDER BY x.n LIMIT %(size)s::int) AS m
 WHERE m.batch = %(batch)s::bigint
 ORDER BY m.n
