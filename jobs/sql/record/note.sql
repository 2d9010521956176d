-- note: record an event that is not a change of a job.
INSERT INTO ojs_event (at, kind, queue, data)
VALUES (now(), %(kind)s::smallint, %(queue)s::text, %(data)s::jsonb)
