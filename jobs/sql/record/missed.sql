-- missed: committed events from a stamp on that the live streams have not sent (`sent` has the seqs of
-- sent events): a new client starts behind them. Newest first, at most `limit`.
SELECT e.stamp::text::bigint AS stamp, e.seq FROM ojs_event AS e
 WHERE e.stamp >= %(stamp)s::text::xid8 AND e.seq <> ALL (%(sent)s::bigint[])
 ORDER BY e.stamp DESC, e.seq DESC LIMIT %(limit)s::int
