"""One job: what it is, what happened to it, what can be done."""

from typing import Any

import orjson
from django.apps import apps
from django.http import Http404

from console.pages import Page
from jobs.api.codec import encode_job
from jobs.domain.bulk import REVIVED
from jobs.domain.errors import NotFound
from jobs.domain.events import NAMES, Kind
from jobs.domain.job import Job
from jobs.domain.states import TERMINAL, State, state_of
from jobs.services.events import EventFilter, event_name, latest
from jobs.services.explain import explain
from jobs.services.progress import progress_of
from jobs.services.show import show

EVENTS = 200
TOLD = tuple(
    name for kind, name in NAMES.items() if kind not in {Kind.HEARTBEAT, Kind.PROGRESS}
)  # those two can be thousands; the page shows their latest


class JobDetail(Page):
    """Everything known of one job."""

    template_name = "ojs/console/job.html"
    section = "jobs"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the job and its events."""
        try:
            job = show(kwargs["job_id"])
        except NotFound as problem:
            raise Http404 from problem
        if self.tenant not in {None, job.tenant}:
            raise Http404
        told, is_longer = latest(EventFilter(types=TOLD, job_id=job.id), limit=EVENTS)
        state = state_of(job.state)
        return super().get_context_data(
            job=job,
            state=state.value,
            can_cancel=state not in TERMINAL,
            can_retry=state in REVIVED,
            can_delete=state is State.DISCARDED,
            timeline=[(event_name(event), event) for event in told],
            is_longer=is_longer,
            progress=progress_of(job),
            why=explain(job, self.tenant),
            workflow_id=workflow_of(job),
            envelope=orjson.dumps(encode_job(job)),
            title=job.type,
        )


def workflow_of(job: Job) -> str | None:
    """Return the workflow a job is a member of."""
    if not job.watched or not apps.is_installed("workflows"):
        return None
    found: str | None = orjson.loads(job.attributes).get("workflow_id")
    return found
