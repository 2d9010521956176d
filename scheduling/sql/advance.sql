-- advance: store the outcomes of occurrences and the next times of their schedules.
-- `entries` and `runs` are JSON arrays; a run replaces the run KEPT numbers before it.
-- Locks: none; the caller holds the rows of the entries.
WITH fired AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(entries)s::json)
        AS f (id bigint, enabled boolean, due_at timestamptz, next_run_at timestamptz,
              last_run_at timestamptz, last_job_id uuid, run_count bigint, noted bigint,
              apart boolean)
), moved AS (
    UPDATE ojs_cron_entry AS e
       SET enabled = f.enabled, due_at = f.due_at, next_run_at = f.next_run_at,
           last_run_at = f.last_run_at, last_job_id = f.last_job_id, run_count = f.run_count,
           noted = f.noted, apart = f.apart
      FROM fired AS f
     WHERE e.id = f.id AND e.id = ANY (ARRAY(SELECT id FROM fired))
)
INSERT INTO ojs_cron_run AS r (entry_id, slot, number, scheduled_at, noted_at, job_id, reason,
                               detail, manual)
SELECT entry_id, slot, number, scheduled_at, now(), job_id, reason, detail, manual
  FROM json_to_recordset(%(runs)s::json)
    AS n (entry_id bigint, slot smallint, number bigint, scheduled_at timestamptz, job_id uuid,
          reason text, detail text, manual boolean)
ON CONFLICT (entry_id, slot) DO UPDATE
   SET number = excluded.number, scheduled_at = excluded.scheduled_at,
       noted_at = excluded.noted_at, job_id = excluded.job_id, reason = excluded.reason,
       detail = excluded.detail, manual = excluded.manual
