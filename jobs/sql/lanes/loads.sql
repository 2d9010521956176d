-- loads: how many jobs wait in queues, and how many bytes they have; exact.
SELECT queue, jobs, bytes FROM ojs_loads(%(queues)s::text[])
