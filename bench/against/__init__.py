"""Compares the HTTP path and the worker of two versions, in turns on one PostgreSQL."""
