-- lock: lock a job's row, so that a signal and the suspension that waits for it follow each other.
SELECT j.state, j.queue, j.type, j.tenant FROM ojs_job AS j WHERE j.id = %(id)s::uuid
   FOR NO KEY UPDATE
