"""Serve queues: their list, configuration, deletion and rate limits."""
