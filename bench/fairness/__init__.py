"""python -m bench.fairness: what fair scheduling promises, held against a real server."""
