-- note_lags: store the lags of peers, and the time since when a lag exceeds `late_ms`. Peers that
-- are not named are not late. Returns the late peers.
-- Locks: rows of peers, in the order of their regions.
WITH given AS MATERIALIZED (
    SELECT g.region, g.lag_ms
      FROM unnest(%(regions)s::text[], %(lags_ms)s::bigint[]) AS g (region, lag_ms)
), over AS (
    UPDATE ojs_federation_peer AS p SET lag_ms = NULL, late_since = NULL
     WHERE p.lag_ms IS NOT NULL AND p.region <> ALL (%(regions)s::text[])
), noted AS (
    INSERT INTO ojs_federation_peer AS p (region, lag_ms, late_since)
    SELECT g.region, g.lag_ms, CASE WHEN g.lag_ms > %(late_ms)s::bigint THEN now() END
      FROM given AS g
     ORDER BY g.region
        ON CONFLICT (region) DO UPDATE
       SET lag_ms = excluded.lag_ms,
           late_since = CASE WHEN excluded.late_since IS NOT NULL
                             THEN coalesce(p.late_since, excluded.late_since) END
    RETURNING p.region, p.late_since
)
SELECT n.region FROM noted AS n WHERE n.late_since IS NOT NULL
