-- emit_pruned: record dead letters that retention removed, an event per queue and reason.
INSERT INTO ojs_event (at, kind, queue, data)
SELECT now(), 80, p.queue,
       jsonb_build_object('queue', p.queue, 'reason', p.reason, 'count', p.count)
  FROM json_to_recordset(%(pruned)s::json) AS p (queue text, reason text, count int)
 ORDER BY p.queue, p.reason
