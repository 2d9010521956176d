-- promote: due scheduled and retryable jobs become available, at most `batch`; none during maintenance.
-- A bound on an index has to be stable: with clock_timestamp() it would read every waiting row.
-- Jobs and events get its time, too: the time of an older transaction would be before the due time.
-- Locks: the promoted rows, SKIP LOCKED, so several loops share the work; then the locks of ojs_wake.
WITH due AS MATERIALIZED (
    SELECT x.id FROM ojs_later AS x
     WHERE x.due_at <= statement_timestamp() AND ojs_fresh(x.expires_at, now())
       AND NOT EXISTS (SELECT 1 FROM ojs_maintenance AS m
                        WHERE ojs_in_force(m.ends_at))
     ORDER BY x.due_at, x.id LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM ojs_later AS x WHERE x.id = ANY (ARRAY(SELECT id FROM due)) RETURNING x.*
), again AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at, expires_at)
    SELECT id, lane_id, attempt, statement_timestamp(), expires_at FROM gone ORDER BY due_at, id
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           data)
    SELECT statement_timestamp(), CASE WHEN g.kind = 1 THEN 1 ELSE 100 END, g.id, j.queue, j.type,
           j.tenant, g.kind, 3, g.attempt,
           CASE WHEN j.priority <> 0 THEN jsonb_build_object('priority', j.priority) END
      FROM gone AS g JOIN ojs_job AS j ON j.id = g.id
)
SELECT count(*)::int AS promoted,
       (SELECT ojs_wake(array_agg(DISTINCT w.lane_id)) FROM gone AS w) AS woken
  FROM gone
