-- counts_drifted: find the latest corrections of counts that differed from the jobs.
SELECT d.table, NULL::text, min(d.at), sum(d.counts)::bigint, 0,
       jsonb_build_object('counts', sum(d.counts), 'last_at', max(d.at))::text
  FROM ojs_attention_drift AS d WHERE d.at > now() - %(window_m)s::int * interval '1 minute'
 GROUP BY d.table ORDER BY d.table LIMIT %(most)s::int
