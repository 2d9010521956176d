-- next_overdue: in how many milliseconds the next lease or execution time ends; no row without leases.
SELECT (extract(epoch FROM due_at - clock_timestamp()) * 1000)::bigint
  FROM ojs_lease WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1
