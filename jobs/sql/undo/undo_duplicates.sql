-- undo_duplicates: the unique jobs, by fingerprint, that live now.
-- Locks: the locks of ojs_unique_hits; it sets marks and locks fingerprints.
SELECT (%(keys)s::text[])[h.n], h.id
  FROM ojs_unique_hits(%(keys)s::text[], array_fill(62, ARRAY[cardinality(%(keys)s::text[])]),
                       array_fill(NULL::bigint, ARRAY[cardinality(%(keys)s::text[])])) AS h
