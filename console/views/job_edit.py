"""Forms of a job: retry it with other contents, or enqueue a copy of it."""

from typing import Any, Final

import orjson
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console import classified
from console.access import denied
from console.again import request_of
from console.callers import caller_of, told
from console.one_job import OfOneJob
from jobs.api.jobs.override import decode_override
from jobs.api.wire.job_codec import decode_job
from jobs.domain.errors import InvalidRequest, OJSError
from jobs.domain.job import Job
from jobs.domain.outcome.bulk import REVIVED
from jobs.domain.states import state_of
from jobs.domain.wire import jsonio
from jobs.domain.wire.priorities import read_priority
from jobs.services.audit.audit import audited
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.operate import operate

EDITED: Final = ("args", "meta", "queue", "priority")


class JobForm(OfOneJob):
    """A form of an existing job; `fields` has the data as sent."""

    http_method_names = ["get", "post"]
    verb = ""  # of the title

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form; record it if it shows the data of a classified job."""
        job = self.found()
        if why := classified.refusal(request, job):
            return denied(request, why)
        classified.note(request, job)
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Show the form as sent, or with the data of the job."""
        job = self.found()
        fields = kwargs.pop("fields", None) or self.filled(job)
        return super().get_context_data(
            job=job, state=state_of(job.state).value, fields=fields,
            title=f"{self.verb} {job.type} {job.id[-12:]}", **kwargs,
        )  # fmt: skip

    def post(self, request: HttpRequest, job_id: str) -> HttpResponse:
        """Execute the form and show the job, or show the errors."""
        job = self.found()
        if why := classified.refusal(request, job):
            return denied(request, why)
        try:
            following, text = self.act(job, caller_of(request))
        except OJSError as problem:
            fields = {name: request.POST.get(name, "") for name in self.filled(job)}
            shown = self.get_context_data(fields=fields, problem=str(problem))
            return self.render_to_response(shown, status=400)
        told(request, text)
        return HttpResponseRedirect(reverse("ojs_console:job", args=[following]))

    def filled(self, job: Job) -> dict[str, str]:
        """Return the fields with the data of the job."""
        raise NotImplementedError

    def act(self, job: Job, who: Any) -> tuple[str, str]:
        """Execute the form; return the id of the job to show, and a message. Raises OJSError."""
        raise NotImplementedError


class JobRetry(JobForm):
    """Make a job available again with other arguments, meta, queue or priority."""

    template_name = "ojs/console/job_retry.html"
    verb = "Edit and retry"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add whether the job can be retried."""
        shown = super().get_context_data(**kwargs)
        return shown | {"can_retry": state_of(shown["job"].state) in REVIVED}

    def filled(self, job: Job) -> dict[str, str]:
        """Return the fields that a retry can change."""
        return {
            "args": _pretty(job.args), "meta": _pretty(job.meta),
            "queue": job.queue, "priority": str(job.priority),
        }  # fmt: skip

    def act(self, job: Job, who: Any) -> tuple[str, str]:
        """Retry the job with the changed fields."""
        given: dict[str, Any] = {"queue": self.request.POST.get("queue", "").strip()}
        given |= {name: _json(name, self.request.POST.get(name, "")) for name in EDITED[:2]}
        given["priority"] = _priority(self.request.POST.get("priority", ""))
        stored = {
            "args": orjson.loads(job.args), "meta": orjson.loads(job.meta),
            "queue": job.queue, "priority": job.priority,
        }  # fmt: skip
        changed = {name: value for name, value in given.items() if value != stored[name]}
        operate.retry_job(job.id, decode_override({"override": changed or None}, job), who)
        others = f" with changed {', '.join(sorted(changed))}" if changed else ""
        return job.id, f"Job {job.id} is available again{others}."


class JobClone(JobForm):
    """Enqueue a copy of a job, by the rules of PUSH."""

    template_name = "ojs/console/job_clone.html"
    verb = "Clone"

    def filled(self, job: Job) -> dict[str, str]:
        """Return a request that would make such a job now."""
        return {"envelope": _pretty(orjson.dumps(request_of(job)))}

    def act(self, job: Job, who: Any) -> tuple[str, str]:
        """Enqueue the copy; the audit entry names the original job."""
        body = _json("envelope", self.request.POST.get("envelope", ""))
        if not isinstance(body, dict):
            raise InvalidRequest.field("envelope", "must be an object")
        draft = decode_job(body)
        with audited(who, "job.cloned", job.id) as data:
            stored = enqueue([draft], who)[0]
            data["clone"] = stored and stored.id
        if stored is None:
            return job.id, "This server dropped the new job."
        if stored.deduplicated:
            return (
                stored.id,
                f"No job was enqueued: job {stored.id} exists, and the type is unique.",
            )
        return stored.id, f"Job {stored.id} is enqueued."


def _pretty(text: str | bytes) -> str:
    return orjson.dumps(orjson.loads(text), option=orjson.OPT_INDENT_2).decode()


def _priority(text: str) -> int:
    try:
        return read_priority(text)
    except ValueError as problem:
        raise InvalidRequest.field("priority", str(problem), text) from None


def _json(field: str, text: str) -> Any:
    try:
        return jsonio.loads(text.encode(errors="surrogatepass"), jsonio.REQUEST_DEPTH)
    except OJSError as problem:
        raise InvalidRequest.field(field, f"cannot be read: {problem}") from None
    except UnicodeError:
        raise InvalidRequest.field(field, "is not text") from None
