-- unread: about how many events of the record have a stamp from `unread` on: two reads of the key give
-- their numbers. Some numbers belong to transactions that rolled back.
SELECT coalesce((SELECT n.seq FROM ojs_event AS n ORDER BY n.stamp DESC, n.seq DESC LIMIT 1)
                - (SELECT o.seq FROM ojs_event AS o WHERE o.stamp >= %(unread)s::text::xid8
                    ORDER BY o.stamp, o.seq LIMIT 1) + 1, 0)::bigint
