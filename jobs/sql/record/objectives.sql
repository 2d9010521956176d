-- objectives: all queues with an objective by name, with their starts since the objective exists.
SELECT q.name, (q.config -> 'objective' ->> 'start_within_ms')::bigint,
       (q.config -> 'objective' ->> 'percent')::float8, coalesce(t.started, 0), coalesce(t.late, 0)
  FROM ojs_queue AS q LEFT JOIN ojs_objective_total AS t ON t.queue = q.name
 WHERE q.config ? 'objective' ORDER BY q.name
