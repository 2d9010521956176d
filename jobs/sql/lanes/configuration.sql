-- configuration: the version, the limits of types and the template, with the configuration of
-- queues for enqueues; one row at least.
SELECT v.version, q.name, q.config::text, q.draining,
       (SELECT t.config::text FROM ojs_queue_template AS t WHERE t.id = 1) AS template,
       (SELECT jsonb_object_agg(m.key, m.id)::text FROM ojs_limit AS m WHERE m.kind = 3) AS types
  FROM ojs_terms AS v LEFT JOIN ojs_queue AS q ON q.name = ANY (%(queues)s::text[])
 WHERE v.id = 1
