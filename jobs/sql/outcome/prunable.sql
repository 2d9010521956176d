-- prunable: at most `batch` ended jobs that exceed the retention in `rules`, the oldest of each first.
-- `rules` is one JSON array of a queue and a kind (of models.Finished), `n` is the order. A rule selects
-- a job that ended `age_ms` ago (null: no age), or that has `most` newer jobs of its kind in the queue
-- (null: any number). `seen_at`, `seen_id`: the rows up to there were read already. A rule with fewer
-- rows than the batch leaves room for is done. `held` is false for a row that another transaction has.
-- Locks: the jobs, SKIP LOCKED, so several loops share the work; queries.remove ends them.
WITH rule AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(rules)s::json) AS r (
        n int, queue text, kind smallint, age_ms bigint, most bigint, seen_at timestamptz,
        seen_id uuid)
), picked AS MATERIALIZED (
    SELECT r.n, f.id, f.finished_at, f.finished_at < b.old_at AS is_old
      FROM rule AS r
     CROSS JOIN LATERAL (SELECT now() - r.age_ms * interval '1 millisecond' AS old_at) AS b
      LEFT JOIN LATERAL (
           SELECT f.finished_at, f.id FROM ojs_finished AS f
            WHERE f.queue = r.queue AND f.kind = r.kind AND r.most IS NOT NULL
            ORDER BY f.finished_at DESC, f.id DESC OFFSET r.most LIMIT 1) AS o ON true
     CROSS JOIN LATERAL (
           SELECT f.id, f.finished_at FROM ojs_finished AS f
            WHERE f.queue = r.queue AND f.kind = r.kind
              AND (f.finished_at, f.id)
                  > (coalesce(r.seen_at, '-infinity'),
                     coalesce(r.seen_id, '00000000-0000-0000-0000-000000000000'))
              AND f.finished_at <= greatest(b.old_at, o.finished_at)
              AND (f.finished_at < b.old_at OR (f.finished_at, f.id) <= (o.finished_at, o.id))
            ORDER BY f.finished_at, f.id LIMIT %(batch)s::int) AS f
     LIMIT %(batch)s::int
), held AS MATERIALIZED (
    SELECT j.id, j.finished_at, j.watched FROM ojs_job AS j
     WHERE j.id = ANY (ARRAY(SELECT id FROM picked)) AND j.state IS NOT NULL
       FOR UPDATE SKIP LOCKED
)
SELECT p.n, p.id, p.finished_at, coalesce(p.is_old, false) AS is_old, h.id IS NOT NULL AS held,
       coalesce(h.watched, false) AS watched
  FROM picked AS p LEFT JOIN held AS h ON h.id = p.id AND h.finished_at = p.finished_at
