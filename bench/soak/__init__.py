"""Durable jobs while workers, HTTP processes and PostgreSQL are killed: `make soak-durable`."""
