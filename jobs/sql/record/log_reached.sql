-- log_reached: move the position of the log lines, unless another process has moved it.
UPDATE ojs_log_position SET stamp = %(stamp)s::text::xid8, seq = %(seq)s::bigint
 WHERE id = 1 AND stamp = %(was_stamp)s::text::xid8 AND seq = %(was_seq)s::bigint
