-- draining: queues that drain, and the queue that their jobs move to; null: they are cancelled.
SELECT name, moves_to FROM ojs_queue WHERE draining
