"""Judge the state of the database: its schema, and the writes that it refused.

Upgrades and health checks both use this room.
"""
