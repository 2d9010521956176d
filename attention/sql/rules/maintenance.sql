-- maintenance: find the maintenance that holds back all jobs.
SELECT 'server', NULL::text, m.started_at,
       coalesce((SELECT sum(d.jobs) FROM ojs_depth AS d WHERE d.state = 3), 0)::bigint, 0,
       jsonb_build_object('actor', m.actor, 'reason', m.reason, 'ends_at', m.ends_at)::text
  FROM ojs_maintenance AS m WHERE m.ends_at IS NULL OR m.ends_at > now()
