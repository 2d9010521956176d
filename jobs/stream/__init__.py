"""Events told while they happen: one reader per process, a buffer for each client."""
