"""Live events: one reader per process, a buffer for each client."""
