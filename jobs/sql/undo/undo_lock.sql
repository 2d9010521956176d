-- undo_lock: lock an operation for one of its steps, or for its undo. Returns its state, and whether it
-- may keep no more records; no row: it is gone.
SELECT o.state, o.jobs >= %(most_jobs)s::bigint
       OR (SELECT sum(b.bytes) FROM ojs_undo AS b) >= %(most_bytes)s::bigint AS is_full
  FROM ojs_undo AS o WHERE o.id = %(undo)s::bigint FOR NO KEY UPDATE OF o
