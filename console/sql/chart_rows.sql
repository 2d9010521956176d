-- chart_rows: how many rows store the counts of one hour in one span, of this hour or of the hour before,
-- at most `most` of each table. With a `tenant`, only the tenant's rows.
SELECT max(n.number)::int
  FROM (VALUES (0), (1)) AS b (back)
 CROSS JOIN LATERAL (
       SELECT date_bin(interval '1 hour', now(), timestamptz 'epoch')
              - b.back * interval '1 hour' AS at) AS h
 CROSS JOIN LATERAL (
       SELECT (SELECT count(*) FROM (
                      SELECT 1 FROM ojs_period AS p
                       WHERE p.span_s = 3600 AND p.at = h.at AND %(tenant)s::text IS NULL
                       LIMIT %(most)s::int) AS x)
            + (SELECT count(*) FROM (
                      SELECT 1 FROM ojs_latency AS l
                       WHERE l.span_s = 3600 AND l.at = h.at AND %(tenant)s::text IS NULL
                       LIMIT %(most)s::int) AS x)
            + (SELECT count(*) FROM (
                      SELECT 1 FROM ojs_tenant_period AS t
                       WHERE t.tenant = %(tenant)s::text AND t.span_s = 3600 AND t.at = h.at
                       LIMIT %(most)s::int) AS x) AS number) AS n
