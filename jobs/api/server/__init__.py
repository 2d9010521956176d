"""Serve facts about this server: health, metrics, manifest and API description."""
