"""The import path of release 0.3 for the names of `ojs_tasks.testing`."""

from ojs_tasks.testing import Run, TooManyJobs, make_due, run_available

__all__ = ["Run", "TooManyJobs", "make_due", "run_available"]
