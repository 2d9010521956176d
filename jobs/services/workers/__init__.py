"""Track workers: heartbeats, held jobs, draining and departure.

`outcome/reap.py` judges silent workers.
"""
