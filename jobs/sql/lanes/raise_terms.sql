-- raise_terms: a new version of the terms; changes of terms follow one another by its row's lock.
UPDATE ojs_terms SET version = version + 1 WHERE id = 1 RETURNING version
