"""Tests of `runworker` as a real process; its handlers are in `ojs_jobs.py`."""
