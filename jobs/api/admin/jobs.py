"""The jobs endpoints for operators. Spec: contract 24.1, 24.2."""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.jobs.detail import JOB_DETAIL, JOB_SUMMARY, job_detail, summary
from jobs.api.jobs.jobs import JobDetail, decode_priority
from jobs.api.jobs.override import OVERRIDE, decode_override
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, STATE, TIME, Schema, array, maybe, obj, text
from jobs.api.schemas.jobs import PRIORITY
from jobs.api.wire import job_codec
from jobs.api.wire.admin import SINCE, chosen, list_of, listed, moment, optional_text, plain
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.domain.states import State, state_of
from jobs.domain.wire.times import format_time
from jobs.services.operate.operate import cancel_job, change_priority, delete_job, retry_job
from jobs.services.outcome.attempts import timeline
from jobs.services.read.find import SORTS, Wanted, find_jobs, pattern
from jobs.services.record.events import StoredEvent, event_name

FLAG: Schema = {"type": "string", "enum": ["true", "false", ""]}
FILTER: dict[str, Schema] = {
    "queue": text(),
    "state": {"type": "string", "enum": [*State, ""]},
    "type": {**text(), "description": "Exact, or the beginning and `*`"},
    "tenant": text(),
    "since": SINCE,
    "until": SINCE,
    "sort": {"type": "string", "enum": [*SORTS, ""]},
    "order": {"type": "string", "enum": ["asc", "desc", ""]},
    "exclude_terminal": FLAG,
}
SNAPSHOT = obj(
    {
        "phase": text(1),
        "state": maybe(STATE),
        "duration": text(),
        "at": TIME,
        "error": maybe(text()),
    }
)


def decode_wanted(request: Request, tenant: str | None) -> Wanted:
    """Read the filter of a list of jobs. Raises InvalidRequest."""
    state = chosen(request, "state", [one.value for one in State])
    kind = plain(request, "type")
    return Wanted(
        state=State(state) if state else None,
        queue=plain(request, "queue"),
        tenant=tenant or plain(request, "tenant"),
        type=kind and pattern(kind),
        since=moment(request, "since"),
        until=moment(request, "until"),
        is_live=chosen(request, "exclude_terminal", ("true", "false")) == "true",
        sort=chosen(request, "sort", SORTS) or None,
        ascending=chosen(request, "order", ("asc", "desc")) == "asc",
    )


class AdminJobs(OJSView):
    """Jobs by filter."""

    @may_lag
    @operation("adminListJobs", {200: list_of(JOB_SUMMARY, "jobs")}, query={**FILTER, **NUMBERED})
    def get(self, request: Request) -> Answer:
        """List jobs, newest first; ended jobs by their end.

        Filters and orders without an index are applied to the first rows in that order: 50,000 of
        waiting and running jobs, 20,000 otherwise. `total` then counts the matches among these
        rows, with `total_is_estimate`. With `exclude_terminal` the items are whole envelopes, for
        exports.
        """
        window, wanted = admin_page(request), decode_wanted(request, self.principal.tenant)
        found = find_jobs(wanted, offset=window.offset, limit=window.limit)
        encode: Any = job_codec.encode_job if wanted.is_live else summary
        items = [encode(self.as_seen(job, is_listed=True)) for job in found.jobs]
        return Answer(listed(items, found.total, window, "jobs", is_estimate=found.is_estimate))


class AdminJob(JobDetail):
    """One job."""

    http_method_names = ["get", "head", "patch", "delete", "options"]

    @operation("adminGetJob", {200: JOB_DETAIL}, refusals=(404,))
    def get(self, request: Request, job_id: str) -> Answer:
        """Show a job with all its details."""
        return Answer(job_detail(self.as_seen(self.visible(job_id))))

    @operation(
        "adminChangeJob",
        {200: JOB_DETAIL},
        body=obj({"priority": PRIORITY}),
        refusals=(404, 409),
    )
    def patch(self, request: Request, job_id: str) -> Answer:
        """Change the priority of a waiting job: available, scheduled or pending."""
        priority = decode_priority(self.body())
        self.changeable(job_id)
        return Answer(job_detail(self.as_seen(change_priority(job_id, priority, self.caller))))

    @operation("adminDeleteJob", {204: None}, refusals=(404, 409))
    def delete(self, request: Request, job_id: str) -> Answer:
        """Delete an ended job for good."""
        self.changeable(job_id)
        delete_job(job_id, self.caller)
        return Answer(None, status=204)


class AdminJobRetry(JobDetail):
    """Retry by hand."""

    http_method_names = ["post", "options"]

    @operation(
        "adminRetryJob",
        {200: JOB_DETAIL},
        body=obj({}, {"override": maybe(OVERRIDE), "clear_checkpoint": BOOLEAN}),
        needs_body=False,
        refusals=(404, 409),
    )
    def post(self, request: Request, job_id: str) -> Answer:
        """Make a discarded or cancelled job available again, with changes if wanted."""
        body = self.optional_body()
        job = self.changeable(job_id)
        override = decode_override(body, job)
        if override and override.queue:
            self.principal.require_enqueue([(override.queue, job.type)])
        return Answer(job_detail(self.as_seen(retry_job(job_id, override, self.caller))))


class AdminJobCancel(JobDetail):
    """Cancel."""

    http_method_names = ["post", "options"]

    @operation(
        "adminCancelJob",
        {200: JOB_DETAIL},
        body=obj({}, {"reason": maybe(text())}),
        needs_body=False,
        refusals=(404, 409),
    )
    def post(self, request: Request, job_id: str) -> Answer:
        """Cancel a waiting or running job."""
        reason = optional_text(self.optional_body(), "reason")
        self.changeable(job_id)
        job, _ = cancel_job(job_id, self.caller, reason)
        return Answer(job_detail(self.as_seen(job)))


class AdminJobTrace(JobDetail):
    """The timeline of a job."""

    http_method_names = ["get", "head", "options"]

    @operation(
        "adminTraceJob",
        {200: obj({"job_id": text(1), "snapshots": array(SNAPSHOT)})},
        refusals=(404,),
    )
    def get(self, request: Request, job_id: str) -> Answer:
        """Show the events of a job, in order, and how long each step took."""
        self.visible(job_id)
        events = timeline(job_id)
        following = [event.at for event in events[1:]]
        snapshots = (
            [
                _snapshot(event, (after - event.at).total_seconds())
                for event, after in zip(events, [*following, events[-1].at], strict=True)
            ]
            if events
            else []
        )
        return Answer({"job_id": job_id, "snapshots": snapshots})


def _snapshot(event: StoredEvent, seconds: float) -> dict[str, Any]:
    error = event.data.get("error")
    return {
        "phase": event_name(event).partition(".")[2],
        "state": None if event.to_state is None else state_of(event.to_state).value,
        "duration": f"{max(0.0, seconds):.3g}s",
        "at": format_time(event.at),
        "error": str(error.get("message", "")) if isinstance(error, dict) else None,
    }
