"""Exchange revisions of federated jobs between regions, and resolve duplicates.

A job that two regions hold is settled by the rules of ADR 19.
"""
