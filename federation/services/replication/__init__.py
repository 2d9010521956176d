"""Exchange revisions of federated jobs between regions, and resolve duplicates.

The rules of ADR 19 decide about a job that two regions have.
"""
