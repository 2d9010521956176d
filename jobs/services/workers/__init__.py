"""Track workers: heartbeats, held jobs, draining and departure.

A worker's silence is judged in `outcome/reap.py`.
"""
