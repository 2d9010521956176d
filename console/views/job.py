"""One job: what it is, what happened to it, what can be done."""

from typing import Any

import orjson
from django.http import Http404

from console.pages import Page
from jobs.api.codec import encode_job
from jobs.domain.errors import NotFound
from jobs.domain.events import NAMES, Kind
from jobs.domain.states import TERMINAL, State, state_of
from jobs.services.events import EventFilter, events
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
        told, is_longer = events(EventFilter(types=TOLD, job_id=job.id), after=None, limit=EVENTS)
        state = state_of(job.state)
        return super().get_context_data(
            job=job,
            state=state.value,
            can_cancel=state not in TERMINAL,
            can_retry=state is State.DISCARDED,
            timeline=[(NAMES[event.kind], event) for event in told],
            is_longer=is_longer,
            progress=progress_of(job),
            envelope=orjson.dumps(encode_job(job)),
            title=job.type,
        )
