"""The hidden data of a classified job; each view is in the audit log."""

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console import classified
from console.one_job import OfOneJob
from jobs.api.wire.job_codec import encode_job
from jobs.domain.access.classified import classification


class JobArguments(OfOneJob):
    """Arguments, result and envelope of a job whose own page hides them."""

    template_name = "ojs/console/job_arguments.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show and record the data; redirect to the page of a job that hides nothing."""
        job = self.found()
        word = classification(job)
        if word is None:
            return HttpResponseRedirect(reverse("ojs_console:job", args=[job.id]))
        classified.note(request, job)
        envelope = orjson.dumps(encode_job(job))
        return self.render_to_response(
            self.get_context_data(
                job=job, word=word, envelope=envelope, title=f"Arguments of {job.type}", **kwargs
            )
        )
