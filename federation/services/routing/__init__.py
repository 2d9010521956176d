"""Choose a region for a job and place the job there.

`placements.py` stores the region of a job, so that a retry asks it first.
"""
