-- count_schedules: count the schedules that make jobs of a type, by the members that decide the
-- version. The members are JSON as text, null if absent; `enabled` separates schedules that fire from
-- paused schedules. The statement reads at most `looked` schedules by ojs_cron_type. The sum of the
-- counts is the number read. The two equal bounds keep the planner on this index. With an equality,
-- another index could provide the order, and would be read to its end.
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
