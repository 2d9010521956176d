"""Choose a region for a job and place the job there.

`placements.py` remembers where a job went, so that a retry asks there first.
"""
