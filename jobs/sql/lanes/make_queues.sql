-- make_queues: make those of the queues that are not there, configured as the template says.
SELECT ojs_make_queues(%(queues)s::text[]) AS made
