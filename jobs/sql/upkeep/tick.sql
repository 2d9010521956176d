-- tick: store that loops ran.
INSERT INTO ojs_loop (name, ticked_at) SELECT n, now() FROM unnest(%(names)s::text[]) AS n ORDER BY n
ON CONFLICT (name) DO UPDATE SET ticked_at = excluded.ticked_at
