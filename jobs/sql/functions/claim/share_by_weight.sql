-- ojs_share_by_weight: return how many of p_quota jobs each lane gives if only the weights are
-- known. This is systematic sampling: p_quota points at equal distances, from the offset p_start
-- (0 to less than 1). Each lane gets as many jobs as points lie in its section. It reads no table.
--
-- The caller draws p_start at random, so that shares below one job are right over many claims. The
-- caller stays short of 1, because rounding could then add a point.
CREATE OR REPLACE FUNCTION ojs_share_by_weight(p_picks ojs_pick[], p_quota int, p_start float8)
RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (
        SELECT array_agg((floor(y.upto + p_start) - floor(y.since + p_start))::int ORDER BY y.i)
          FROM (SELECT x.i, x.upto, coalesce(lag(x.upto) OVER (ORDER BY x.i), 0) AS since
                  FROM (SELECT t.ordinality AS i, p_quota * sum(t.weight) OVER (ORDER BY t.ordinality)
                                                  / sum(t.weight) OVER () AS upto
                          FROM unnest(p_picks) WITH ORDINALITY AS t) AS x) AS y);
END $$
