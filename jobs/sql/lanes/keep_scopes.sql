-- keep_scopes: delete the sums of tenants in all scopes but these. Rows that a claim is adding to stay:
-- claims lock them in an order of their own. Remaining rows count for no lane that joins the scope.
-- Locks: the rows (skipped where a claim has them).
DELETE FROM ojs_served AS s
 WHERE s.ctid = ANY (ARRAY(
       SELECT o.ctid FROM ojs_served AS o WHERE o.scope <> ALL (%(scopes)s::text[])
          FOR UPDATE SKIP LOCKED))
