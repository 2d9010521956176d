-- cron_missed: find enabled schedules that should have fired and did not.
SELECT e.id::text, e.tenant, e.due_at, 1::bigint, 1,
       jsonb_build_object('name', e.name, 'due_at', e.due_at,
           'is_maintenance', EXISTS (SELECT FROM ojs_maintenance AS m
                                      WHERE m.ends_at IS NULL OR m.ends_at > now()))::text
  FROM ojs_cron_entry AS e
 WHERE e.due_at < now() - %(grace_s)s::int * interval '1 second'
 ORDER BY e.due_at LIMIT %(most)s::int
