"""python -m bench.fairness: the promises of fair scheduling, tested on a real server."""
