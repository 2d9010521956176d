-- ojs_claimable: return whether a claim may hand out a waiting job: it has not expired. Every
-- search for jobs to hand out calls it, so a rule about a single job is a condition here. Searches
-- for another purpose do not call it: an expired job keeps its lane awake and may make its queue
-- overdue. PostgreSQL inlines the function as long as it is one expression without a subquery.
CREATE OR REPLACE FUNCTION ojs_claimable(p_job ojs_ready, p_now timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ojs_fresh(p_job.expires_at, p_now)
$$
