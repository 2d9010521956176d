"""Encode a job in full, for operators. Spec: contract 24.2, 28.2, 29."""

from typing import Any

import orjson

from jobs.api.schemas import ANY, OBJECT, TIME, Schema, array, component, integer, maybe, obj, text
from jobs.api.schemas.jobs import CHECKPOINT, JOB, JOB_ERROR, JOB_MEMBERS, RETRY
from jobs.api.wire import job_codec
from jobs.api.wire.checkpoints import checkpoint_member
from jobs.domain.job import Job, ends_of
from jobs.domain.states import state_of
from jobs.domain.wire.bounds import MAX_REQUEST_ID
from jobs.domain.wire.times import format_time
from jobs.models import DEFAULT_TENANT, Replay
from jobs.services.outcome.dead_letter import replays_of
from jobs.services.outcome.progress import progress_of

MOMENTS = (
    "created_at", "enqueued_at", "started_at", "scheduled_at", "completed_at", "cancelled_at",
    "discarded_at",
)  # fmt: skip
DETAIL_MEMBERS: Schema = {
    **JOB_MEMBERS,
    "properties": {
        **JOB_MEMBERS["properties"],
        "errors": array(JOB_ERROR),
        "error": maybe(JOB_ERROR),
        "retry_policy": RETRY,
        "tenant_id": text(1),
        "progress": {"type": ["number", "null"]},
        "progress_data": ANY,
        "progress_message": maybe(text()),
        "progress_history": array(OBJECT),
        "checkpoint": CHECKPOINT,
        "replay_count": integer(0),
        "lease_until": TIME,
        "request_id": text(1, MAX_REQUEST_ID),
        "metadata": obj({}, {name: maybe(TIME) for name in MOMENTS}),
    },
    "required": [
        *JOB_MEMBERS["required"], "errors", "error", "result", "retry_policy", "progress",
        "progress_data", "progress_message", "progress_history", "replay_count", "metadata",
    ],
}  # fmt: skip
JOB_DETAIL = component(
    "JobDetail",
    {
        **DETAIL_MEMBERS,
        "properties": {**DETAIL_MEMBERS["properties"], "job": JOB},
        "required": [*DETAIL_MEMBERS["required"], "job"],
    },
)
JOB_SUMMARY = component(
    "JobSummary",
    obj(
        {
            name: JOB_MEMBERS["properties"][name]
            for name in ("id", "type", "queue", "state", "priority", "attempt", "created_at")
        },
        {
            "completed_at": TIME,
            "scheduled_at": TIME,
            "tenant_id": text(1),
            "version": text(1),
        },
        additionalProperties=True,
    ),
)


def job_detail(job: Job) -> bytes:
    """Write the whole job, flat and wrapped; two statements."""
    return job_codec.job_answer(job, **details(job, replays_of([job.id]).get(job.id)))


def details(job: Job, replay: Replay | None) -> dict[str, Any]:
    """Return the operators' members beyond the envelope; one statement."""
    progress = progress_of(job)
    shown: dict[str, Any] = {
        "errors": [] if job.errors is None else orjson.Fragment(job.errors),
        "error": None if job.error is None else orjson.Fragment(job.error),
        "result": None if job.result is None else orjson.Fragment(job.result),
        "retry_policy": orjson.loads(job.attributes).get("retry"),
        "progress": progress.fraction,
        "progress_data": progress.data,
        "progress_message": progress.message,
        "progress_history": progress.history,
        "metadata": _moments(job),
        **_tenant(job),
        **replay_facts(job, replay),
    }
    shown |= checkpoint_member(job)
    if job.lease_until is not None:
        shown["lease_until"] = job.lease_until
    if job.request_id is not None:
        shown["request_id"] = job.request_id
    return shown


def replay_facts(job: Job, replay: Replay | None) -> dict[str, Any]:
    """Return how often a job was replayed, also merged into its `meta` for some clients."""
    if replay is None:
        return {"replay_count": 0}
    meta = orjson.loads(job.meta)
    meta |= {
        "ojs.replay_count": replay.replays,
        "ojs.last_replayed_at": format_time(replay.last_at),
        "ojs.replay_rule": replay.rule,
    }
    return {"replay_count": replay.replays, "meta": meta}


def _moments(job: Job) -> dict[str, Any]:
    found: dict[str, Any] = {
        **dict.fromkeys(MOMENTS),
        "created_at": job.created_at,
        "enqueued_at": job.enqueued_at,
        "started_at": job.started_at,
        "scheduled_at": job.scheduled_at,
        **ends_of(job),
    }
    return {name: at and format_time(at) for name, at in found.items()}


def _tenant(job: Job) -> dict[str, str]:
    return {} if job.tenant == DEFAULT_TENANT else {"tenant_id": job.tenant}


def summary(job: Job) -> dict[str, Any]:
    """Encode a list item."""
    moments = _moments(job)
    shown: dict[str, Any] = {
        "id": job.id,
        "type": job.type,
        "queue": job.queue,
        "state": state_of(job.state).value,
        "priority": job.priority,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "created_at": moments["created_at"],
        **_tenant(job),
    }
    if job.version is not None:
        shown["version"] = orjson.loads(job.version)
    times = ("scheduled_at", "started_at", "completed_at", "cancelled_at", "discarded_at")
    return shown | {name: moments[name] for name in times if moments[name]}
