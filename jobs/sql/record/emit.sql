-- emit: record events outside of the statements that move jobs; `events` is a JSON array.
INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, data)
SELECT now(), kind, job_id, queue, type, tenant, data
  FROM json_to_recordset(%(events)s::json)
    AS e (n int, kind smallint, job_id uuid, queue text, type text, tenant text, data jsonb)
 ORDER BY n
