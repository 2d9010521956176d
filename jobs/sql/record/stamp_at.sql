-- stamp_at: about which stamp the record had at a time: the first stamp whose events are not older.
-- It halves the record until one stamp is left, with one index read each. Times may differ from the
-- order of stamps by the length of a transaction, so the caller leaves room and compares times exactly.
WITH RECURSIVE halves AS (
    SELECT coalesce((SELECT e.stamp::text::bigint FROM ojs_event AS e
                      ORDER BY e.stamp, e.seq LIMIT 1), 0) AS low,
           coalesce((SELECT e.stamp::text::bigint + 1 FROM ojs_event AS e
                      ORDER BY e.stamp DESC, e.seq DESC LIMIT 1), 0) AS high
    UNION ALL
    SELECT CASE WHEN f.at < %(at)s::timestamptz THEN f.stamp + 1 ELSE h.low END,
           CASE WHEN f.at < %(at)s::timestamptz THEN h.high ELSE m.middle END
      FROM halves AS h
     CROSS JOIN LATERAL (SELECT (h.low + h.high) / 2 AS middle) AS m
     CROSS JOIN LATERAL (SELECT e.at, e.stamp::text::bigint AS stamp FROM ojs_event AS e
                          WHERE e.stamp >= m.middle::text::xid8
                          ORDER BY e.stamp, e.seq LIMIT 1) AS f
     WHERE h.low < h.high
)
SELECT max(low) AS stamp FROM halves
