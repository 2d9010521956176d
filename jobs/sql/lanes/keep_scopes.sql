-- keep_scopes: forget what tenants got of all scopes but these. What a claim is just adding to stays: it
-- holds its rows in an order of its own, and what is left counts for no lane that comes to the scope.
-- Locks: the rows (skipped where a claim has them).
DELETE FROM ojs_served AS s
 WHERE s.ctid = ANY (ARRAY(
       SELECT o.ctid FROM ojs_served AS o WHERE o.scope <> ALL (%(scopes)s::text[])
          FOR UPDATE SKIP LOCKED))
