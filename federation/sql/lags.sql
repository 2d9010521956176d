-- lags: how long ago the oldest unsent revision of each peer was made, in ms; 0: it has all
-- revisions. `most` bounds the count of pending revisions. Events that replication has not read yet
-- (`unread`) count for every peer.
WITH unread AS MATERIALIZED (
    SELECT coalesce((SELECT greatest(0, extract(epoch FROM now() - e.at) * 1000)
                       FROM ojs_event AS e
                      WHERE (e.stamp, e.seq) > (%(stamp)s::text::xid8, %(seq)s::bigint)
                      ORDER BY e.stamp, e.seq LIMIT 1), 0)::bigint AS ms
)
SELECT p.region, coalesce(r.cursor, 0) AS cursor,
       greatest(u.ms, coalesce((SELECT greatest(0, extract(epoch FROM now()) * 1000
                                                   - m.revision / 1000)
                                  FROM ojs_federation_job AS m
                                 WHERE m.origin_region = %(local)s::text
                                   AND m.revision > coalesce(r.cursor, 0)
                                 ORDER BY m.origin_region, m.revision LIMIT 1), 0))::bigint AS lag_ms,
       (SELECT count(*) FROM (
               SELECT FROM ojs_federation_job AS m
                WHERE m.origin_region = %(local)s::text AND m.revision > coalesce(r.cursor, 0)
                ORDER BY m.origin_region, m.revision LIMIT %(most)s::int) AS x)::int AS pending
  FROM unnest(%(peers)s::text[]) AS p (region)
 CROSS JOIN unread AS u
  LEFT JOIN ojs_federation_peer AS r ON r.region = p.region
 ORDER BY p.region
