"""The base of pages about one job, which finds the job if the user may see it."""

from django.http import Http404

from console.views.base import PageView
from jobs.domain.errors import NotFound
from jobs.domain.job import Job
from jobs.services.read.show import show


class OfOneJob(PageView):
    """A page about the job that its path names."""

    def found(self) -> Job:
        """Return the job; one statement. Raises Http404, also for a job of another tenant."""
        try:
            job = show(self.kwargs["job_id"])
        except NotFound as problem:
            raise Http404 from problem
        if self.tenant not in {None, job.tenant}:
            raise Http404
        return job
