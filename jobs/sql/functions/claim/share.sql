-- ojs_share: return how many of p_quota jobs each lane gives. The n-th job of a lane has the finish
-- tag vt + n / weight. The jobs with the smallest tags are chosen; of equal tags, the first lane's.
-- A single job goes to the first lane instead, which has the smallest virtual time: the caller
-- passes the lanes in that order. It reads no table.
CREATE OR REPLACE FUNCTION ojs_share(p_picks ojs_pick[], p_quota int) RETURNS int[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_lanes int := cardinality(p_picks);
    v_upto float8;
    v_planned int[];
BEGIN
    IF p_quota = 1 THEN
        v_planned := array_fill(0, ARRAY[v_lanes]);
        v_planned[1] := 1;
        RETURN v_planned;
    END IF;
    -- With an equal number of jobs, each lane has its last tag at or below v_upto. So the p_quota
    -- smallest tags are at most v_upto, and larger tags need not be generated.
    SELECT max(t.vt + ceil(p_quota::float8 / v_lanes) / t.weight) INTO v_upto FROM unnest(p_picks) AS t;
    SELECT array_agg(x.n ORDER BY x.i) INTO v_planned
      FROM (SELECT y.i, sum(y.one)::int AS n
              FROM (SELECT i, 0 AS one FROM generate_series(1, v_lanes) AS i
                    UNION ALL
                    (SELECT t.ordinality, 1
                       FROM unnest(p_picks) WITH ORDINALITY AS t
                      CROSS JOIN LATERAL generate_series(
                            1, least(p_quota, (v_upto - t.vt) * t.weight + 1)::int) AS g
                      ORDER BY t.vt + g / t.weight, t.ordinality LIMIT p_quota)) AS y
             GROUP BY y.i) AS x;
    RETURN v_planned;
END $$
