-- make_queues: make missing queues, configured by the template.
SELECT ojs_make_queues(%(queues)s::text[]) AS made
