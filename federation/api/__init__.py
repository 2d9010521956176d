"""The HTTP API of federation: the router, regions, replication, and summaries over all regions.

`codec.py` and `replication_codec.py` convert bodies; `schemas.py` describes them.
"""
