-- tick: store that a loop ran.
INSERT INTO ojs_loop (name, ticked_at) VALUES (%(name)s::text, now())
ON CONFLICT (name) DO UPDATE SET ticked_at = excluded.ticked_at
