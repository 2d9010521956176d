"""Serve jobs: enqueue, show and cancel them, one or many, and the dead letter."""
