-- note_minute: count a probe of a region in the ring of its last hour; `rtt_ms` null: it failed.
-- Locks: one row of the ring.
INSERT INTO ojs_federation_minute AS m (region_id, slot, at, answers, total_ms, failures)
SELECT %(region)s::text, extract(minute FROM now() AT TIME ZONE 'UTC')::smallint,
       date_trunc('minute', now()), (g.rtt_ms IS NOT NULL)::int, coalesce(g.rtt_ms, 0),
       (g.rtt_ms IS NULL)::int
  FROM (SELECT %(rtt_ms)s::float8) AS g (rtt_ms)
    ON CONFLICT (region_id, slot) DO UPDATE
   SET at = excluded.at,
       answers = excluded.answers + CASE WHEN m.at = excluded.at THEN m.answers ELSE 0 END,
       total_ms = excluded.total_ms + CASE WHEN m.at = excluded.at THEN m.total_ms ELSE 0 END,
       failures = excluded.failures + CASE WHEN m.at = excluded.at THEN m.failures ELSE 0 END
