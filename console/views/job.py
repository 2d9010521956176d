"""A job: its data, its history and its actions."""

from typing import Any

import orjson
from django.http import Http404
from django.urls import reverse
from django.utils import timezone

from attention.domain.rule import Subject
from console import gantt, links
from console.again import again
from console.one_job import OfOneJob
from console.story import attempts, steps
from console.why.gates import causes_of_job
from console.why.statements import statements
from jobs.api.admin.past import type_of
from jobs.api.wire.job_codec import encode_job
from jobs.domain.access.classified import classification
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.job import Job
from jobs.domain.outcome.bulk import REVIVED
from jobs.domain.outcome.retry import decide, from_wire
from jobs.domain.states import TERMINAL, State, state_of
from jobs.services.audit.audit import done_to
from jobs.services.dispatch.explain import explain
from jobs.services.outcome.progress import progress_of
from jobs.services.record.past import event_number, past_job
from ojs_tasks.codecs.payload import has_encoded
from ojs_tasks.installed import has_app

ACTS, NAMED = 20, 8  # entries of the audit log, steps of a workflow before this step
NAMED_STEPS = 500  # stored steps that a form offers


class JobDetail(OfOneJob):
    """All data of a job."""

    template_name = "ojs/console/job.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the job and its events."""
        job = self.found()
        timeline, is_longer = steps(job)
        state = state_of(job.state)
        tried = attempts(job, timeline)
        why = explain(job, self.tenant)
        return super().get_context_data(
            job=job,
            state=state.value,
            can_cancel=state not in TERMINAL,
            can_retry=state in REVIVED,
            can_delete=state in TERMINAL,
            is_dead=state is State.DISCARDED,
            timeline=timeline,
            is_longer=is_longer,
            attempts=tried,
            why_final=_why_final(job) if state is State.DISCARDED else "",
            bars=gantt.of_attempts(tried, timezone.now()),
            acts=done_to(job.id, "job", limit=ACTS),
            progress=progress_of(job),
            why=why,
            why_here=statements(
                self.request,
                causes_of_job(job, why.gates),
                Subject.WORKER if state is State.ACTIVE and job.worker_id else None,
                job.worker_id or "",
            ),
            workflow=_place_of(job),
            **_stored_of(job),
            classified=classification(job),
            is_encoded=has_encoded(orjson.loads(job.args)),
            envelope=orjson.dumps(encode_job(job)),
            again=again(job, self.request.build_absolute_uri(reverse("ojs-jobs"))),
            links=links.of_job(job, timezone.now()),
            past=_past_of(job, self.request.GET.get("event")),
            title=f"{job.type} {job.id[-12:]}",
        )


def _why_final(job: Job) -> str:
    """Return why no attempt followed although the job has more; empty: it has no more."""
    if job.error is None or job.attempt >= job.max_attempts:
        return ""
    policy = from_wire(orjson.loads(job.attributes)["retry"])
    error = orjson.loads(job.error)
    return decide(policy, error, job.attempt, job.max_attempts, random=lambda: 0.0).why


def _past_of(job: Job, event_id: str | None) -> dict[str, Any] | None:
    """Return the job right after the event that the page asks for. Raises Http404."""
    if not event_id:
        return None
    try:
        found = past_job(job, event_number(event_id))
    except (InvalidRequest, NotFound) as problem:
        raise Http404 from problem
    names = (found.past.state, found.past.state_before)
    return {
        "name": type_of(found.event.kind),
        "states": [code and state_of(code).value for code in names],
        "of": found.past,
        "checkpoint": found.checkpoint,
        "has_args": found.has_args,
    }


def _stored_of(job: Job) -> dict[str, Any]:
    """Return the steps that a job has stored; a classified job shows none of them."""
    if not has_app("durable"):
        return {}
    from durable.services.steps import RETRIED, stored_steps  # noqa: PLC0415 - may be absent

    state = state_of(job.state)
    steps = [] if classification(job) else stored_steps(job)
    return {
        "can_signal": state not in TERMINAL,
        "signals": sorted({one.signal for one in steps if one.signal and one.state == "waiting"}),
        "stored": gantt.of_stored_steps(steps, timezone.now()),
        "retried_from": [one.name for one in steps[-NAMED_STEPS:]] if state in RETRIED else [],
        "hides_steps": job.is_checkpointed and bool(classification(job)),
    }


def _place_of(job: Job) -> Any:
    """Return the step of a job in its workflow, None without a workflow."""
    if not job.watched or not has_app("workflows"):
        return None
    from workflows.services.explain import place_of  # noqa: PLC0415 - the app may be absent

    return place_of(job.id, NAMED)
