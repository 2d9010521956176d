-- ojs_room: return how many jobs of a limit may start now (null: any number), and when a reached
-- limit opens by itself (null: only when a job ends). The caller holds the limit's lock
-- (exclusive), so the count stays true until it commits.
--
-- A rate counts all starts of a slot at the time of the last of them. So a start may count for longer
-- than the window, by at most a thousandth, but never for a shorter time.
--
-- Records an event when a limit is reached, and another when it has room again: at most one event
-- of the limit per second. A tenant's limit (kind 2) has only the event `tenant.limit_exceeded`
-- when it is reached. A tenant with a limit of 0 is suspended and has no event.
-- Locks: the limit's row, unless another transaction holds it.
-- Spec: contract 27.2.
CREATE OR REPLACE FUNCTION ojs_room(
    p_limit bigint, p_now timestamptz, OUT room int, OUT opens_at timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
    m ojs_limit;
    strategy text;
    used bigint;
    most int;
BEGIN
    SELECT * INTO m FROM ojs_limit AS l WHERE l.id = p_limit;
    SELECT u.room, u.opens_at, u.strategy, u.active, (u.policy ->> 'concurrency')::int
      INTO room, opens_at, strategy, used, most
      FROM ojs_usage(m, p_now) AS u;
    IF m.is_exceeded <> (strategy IS NOT NULL)
       AND (m.told_at IS NULL OR m.told_at <= p_now - interval '1 second')
    THEN
        PERFORM 1 FROM ojs_limit AS l WHERE l.id = p_limit FOR NO KEY UPDATE SKIP LOCKED;
        IF FOUND THEN
            UPDATE ojs_limit AS l SET is_exceeded = strategy IS NOT NULL, told_at = p_now
             WHERE l.id = p_limit;
            IF m.kind <> 2 THEN
                INSERT INTO ojs_event (at, kind, queue, tenant, limits, data)
                VALUES (p_now, CASE WHEN strategy IS NULL THEN 75 ELSE 74 END,
                        CASE WHEN m.kind = 1 THEN m.key END, nullif(m.tenant, '*'), ARRAY[p_limit],
                        jsonb_strip_nulls(jsonb_build_object('key', m.key, 'strategy', strategy)));
            ELSIF strategy = 'concurrency' AND most > 0 THEN
                INSERT INTO ojs_event (at, kind, tenant, data)
                VALUES (p_now, 87, m.tenant, jsonb_build_object(
                        'tenant_id', m.tenant, 'limit', 'max_concurrency', 'current', used,
                        'maximum', most, 'mode', 'hard'));
            END IF;
        END IF;
    END IF;
END $$
