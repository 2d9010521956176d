-- schema_keep_release: store the release of the tables, unless it is stored.
-- Locks: the row.
INSERT INTO ojs_release AS r (id, version, serves)
VALUES (1, %(version)s::text, %(serves)s::text)
ON CONFLICT (id) DO UPDATE SET version = excluded.version, serves = excluded.serves
 WHERE (r.version, r.serves) <> (excluded.version, excluded.serves)
