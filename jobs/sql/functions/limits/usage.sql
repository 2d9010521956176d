-- ojs_usage: return the usage of a limit, by which `ojs_room` decides. Reads only.
--
-- Returns:
--   room             how many jobs may start now; null: any number.
--   opens_at         when a reached limit opens by itself; null: only when a job ends.
--   strategy         the rule by which the limit is reached; null: it is not reached.
--   policy, until    the policy in force: the limit's own or an override. `until`: the override's end.
--   active, started  the active jobs, and the starts in the window; null: no rule needed the number.
CREATE OR REPLACE FUNCTION ojs_usage(
    m ojs_limit, p_now timestamptz, OUT room int, OUT opens_at timestamptz, OUT strategy text,
    OUT policy jsonb, OUT until timestamptz, OUT active bigint, OUT started bigint
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    period interval;
    latest timestamptz;
BEGIN
    policy := m.policy;
    IF m.override IS NOT NULL AND (m.override_until IS NULL OR m.override_until > p_now) THEN
        policy := m.override;
        until := m.override_until;
    END IF;
    IF policy ? 'concurrency' THEN
        SELECT count(*) INTO active FROM ojs_hold AS h WHERE h.limit_id = m.id;
        room := (policy ->> 'concurrency')::int - active;
        strategy := CASE WHEN room <= 0 THEN 'concurrency' END;
    END IF;
    IF policy ? 'gap_ms' AND (room IS NULL OR room > 0) THEN
        SELECT s.at INTO latest FROM ojs_start AS s WHERE s.limit_id = m.id
         ORDER BY s.limit_id DESC, s.slot DESC LIMIT 1;
        room := 1;
        latest := latest + (policy ->> 'gap_ms')::float8 * interval '1 millisecond';
        IF latest > p_now THEN
            room := 0;
            opens_at := latest;
            strategy := 'throttle';
        END IF;
    END IF;
    IF policy ? 'rate' AND (room IS NULL OR room > 0) THEN
        period := (policy ->> 'rate_ms')::float8 * interval '1 millisecond';
        SELECT coalesce(sum(s.jobs), 0) INTO started FROM ojs_start AS s
         WHERE s.limit_id = m.id AND s.at > p_now - period
           AND s.slot > p_now - period - m.slot_ms * interval '1 millisecond';
        room := least(room, (policy ->> 'rate')::bigint - started);
        IF room <= 0 THEN
            strategy := 'rate';
            SELECT s.at + period INTO opens_at FROM ojs_start AS s
             WHERE s.limit_id = m.id AND s.at > p_now - period
               AND s.slot > p_now - period - m.slot_ms * interval '1 millisecond'
             ORDER BY s.limit_id, s.slot LIMIT 1;
        END IF;
    END IF;
    IF m.paused_until > p_now THEN
        room := 0;
        strategy := 'paused';
        opens_at := greatest(opens_at, m.paused_until);
    END IF;
    IF room <= 0 AND until IS NOT NULL THEN
        opens_at := least(opens_at, until);
    END IF;
    room := CASE WHEN room < 0 THEN 0 ELSE room END;
END $$
