-- hold_terms: wait until nobody changes the terms, and keep others from it until the transaction ends.
SELECT version FROM ojs_terms WHERE id = 1 FOR NO KEY UPDATE
