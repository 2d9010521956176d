"""The import path of release 0.3 for the names of `ojs_tasks`."""

from ojs_tasks import Context, Discard, JobTimeout, Retry, current_job, job

__all__ = ["Context", "Discard", "JobTimeout", "Retry", "current_job", "job"]
