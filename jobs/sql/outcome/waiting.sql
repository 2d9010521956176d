-- waiting: the ids of available, scheduled, pending and retryable jobs; a plain read.
SELECT r.id FROM ojs_ready AS r WHERE r.id = ANY (%(ids)s::uuid[])
 UNION ALL
SELECT w.id FROM ojs_later AS w WHERE w.id = ANY (%(ids)s::uuid[])
