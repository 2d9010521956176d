-- sends: how many schedules make jobs of a type, by what says the version: JSON as text, null where it
-- is not said; `enabled` tells those that fire by themselves. Up to `looked` are looked at by
-- ojs_cron_type, between two equal bounds: with an equality another index could give the order, and be
-- read to its end. The counts of all rows say how many that were.
SELECT s.type, s.version, s.option, s.enabled, count(*)::int AS schedules
  FROM (SELECT e.template ->> 'type' AS type, (e.template -> 'version')::text AS version,
               (e.template -> 'options' -> 'version')::text AS option, e.enabled
          FROM ojs_cron_entry AS e
         WHERE split_part(e.template ->> 'type', '@', 1) >= %(type)s::text
           AND split_part(e.template ->> 'type', '@', 1) <= %(type)s::text
         ORDER BY split_part(e.template ->> 'type', '@', 1), e.id
         LIMIT %(looked)s::int) AS s
 GROUP BY 1, 2, 3, 4
 ORDER BY 1, 2, 3, 4
