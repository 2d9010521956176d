-- record: store the outcome of steps' jobs, and block cancels of their workflows until this
-- transaction ends. The statements that follow update the workflows.
-- Locks: the steps, which no other statement changes while their jobs run; then the stripes of the
-- workflows, shared, in order. A cancel takes its stripe exclusive.
WITH ended AS (
    UPDATE ojs_workflow_step AS s
       SET state = CASE j.state WHEN 6 THEN 3 WHEN 8 THEN 4 ELSE 5 END,
           result = CASE WHEN j.state = 6 THEN j.result END,
           error = CASE j.state WHEN 8 THEN j.error - 'backtrace' - 'details'
                                WHEN 7 THEN jsonb_build_object('code', 'cancelled',
                                    'type', 'cancelled', 'message', 'the job was cancelled',
                                    'attempt', j.attempt) END,
           started_at = j.started_at, finished_at = j.finished_at
      FROM ojs_job AS j
     WHERE s.job_id = ANY (%(ids)s::uuid[]) AND s.state = 2
       AND j.id = ANY (%(ids)s::uuid[]) AND j.id = s.job_id AND j.finished_at IS NOT NULL
    RETURNING s.workflow_id, s.index, s.state, s.callback, cardinality(s.dependents) AS dependents
), placed AS MATERIALIZED (
    SELECT e.*, w.depth, hashtext(w.root_id::text) & 127 AS stripe
      FROM ended AS e JOIN ojs_workflow AS w ON w.id = e.workflow_id
), held AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared(20266609, o.stripe)
      FROM (SELECT DISTINCT stripe FROM placed ORDER BY stripe) AS o
)
SELECT p.workflow_id, p.index, p.state, p.callback, p.depth, p.dependents,
       (SELECT count(*) FROM held) AS stripes
  FROM placed AS p
