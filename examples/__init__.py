"""Durable handlers to read and to copy; `tests/examples` runs each of them."""
