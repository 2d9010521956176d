"""Benchmarks of the whole server against PostgreSQL alone; see docs/performance.md."""
