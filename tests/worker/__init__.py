"""`runworker` as a real process; its handlers stand in `ojs_jobs.py`."""
