-- note_wait: note the step for which a suspended job waits. Returns whether one of its signals has
-- come already, or `over`: what it waits for has ended. The caller has locked the job's row.
INSERT INTO ojs_wait AS w (job_id, step, signals, until, since, is_woken)
SELECT %(id)s::uuid, %(step)s::text, %(signals)s::text[], %(until)s::timestamptz, now(),
       %(over)s::boolean
       OR EXISTS (SELECT 1 FROM ojs_signal AS s
                   WHERE s.job_id = %(id)s::uuid AND s.name = ANY (%(signals)s::text[]))
ON CONFLICT (job_id) DO UPDATE
   SET step = excluded.step, signals = excluded.signals, until = excluded.until, since = now(),
       is_woken = excluded.is_woken
RETURNING w.is_woken
