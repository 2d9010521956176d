-- unread: about how many events of the record have a stamp from `unread` on: their numbers, of which
-- some were taken back, are counted by two looks at the key.
SELECT coalesce((SELECT n.seq FROM ojs_event AS n ORDER BY n.stamp DESC, n.seq DESC LIMIT 1)
                - (SELECT o.seq FROM ojs_event AS o WHERE o.stamp >= %(unread)s::text::xid8
                    ORDER BY o.stamp, o.seq LIMIT 1) + 1, 0)::bigint
