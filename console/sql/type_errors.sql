-- type_errors: the failed attempts of a type among the latest `looked` failed attempts of all types, in
-- groups of equal errors, the largest first. The last two columns describe the search.
WITH looked AS MATERIALIZED (
    SELECT e.at, e.type, e.data -> 'error' AS error
      FROM ojs_event AS e WHERE e.kind = 5
     ORDER BY e.stamp DESC, e.seq DESC LIMIT %(looked)s::int
), failed AS MATERIALIZED (
    SELECT l.at, l.error, ojs_fingerprint(l.type, l.error) AS fingerprint
      FROM looked AS l WHERE l.type = %(type)s::text
)
SELECT f.fingerprint,
       coalesce((array_agg(coalesce(f.error ->> 'type', f.error ->> 'code') ORDER BY f.at DESC))[1], ''),
       coalesce((array_agg(left(f.error ->> 'message', 300) ORDER BY f.at DESC))[1], ''),
       count(*)::int, (count(*) FILTER (WHERE f.at > now() - interval '1 hour'))::int,
       min(f.at), max(f.at),
       (SELECT count(*) FROM looked)::int, (SELECT min(at) FROM looked)
  FROM failed AS f GROUP BY f.fingerprint
 ORDER BY count(*) DESC, f.fingerprint LIMIT %(size)s::int
