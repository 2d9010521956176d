-- ojs_share_by_weight: return how many of p_quota jobs each lane gives, by their weights alone.
-- This is systematic sampling. Each lane has a section of a line of length p_quota, as long as its
-- share. Points lie at distances of 1, with the offset p_start. A lane gives a job for each point
-- in its section. It reads no table.
--
-- The caller draws p_start at random from 0 to less than 1, so that shares below one job are exact
-- on average. A value too close to 1 is wrong: rounding could add a point.
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
