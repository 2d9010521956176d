-- sample: store the available jobs of the 1,000 deepest queues once a minute; forget samples after an
-- hour. Also returns the tables of rules: their changes by operators.
WITH gone AS (
    DELETE FROM ojs_attention_sample WHERE at < now() - interval '65 minutes'
), stored AS (
    INSERT INTO ojs_attention_sample (at, queue, jobs)
    SELECT date_trunc('minute', now()), d.queue, d.jobs
      FROM (SELECT x.queue, x.jobs FROM ojs_depth AS x WHERE x.state = 3
             ORDER BY x.jobs DESC LIMIT 1000) AS d
     WHERE NOT EXISTS (SELECT FROM ojs_attention_sample AS s WHERE s.at = date_trunc('minute', now()))
    ON CONFLICT DO NOTHING
)
SELECT r.rule, r.is_enabled, r.thresholds::text, r.overrides::text FROM ojs_attention_rule AS r
