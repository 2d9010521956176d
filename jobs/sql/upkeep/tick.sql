-- tick: note that a loop did its turn.
INSERT INTO ojs_loop (name, ticked_at) VALUES (%(name)s::text, now())
ON CONFLICT (name) DO UPDATE SET ticked_at = excluded.ticked_at
