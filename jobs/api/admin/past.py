"""The state of a job right after any of its events."""

from datetime import datetime
from typing import Any, Final

import orjson
from rest_framework.request import Request

from jobs.api.jobs.jobs import JobDetail
from jobs.api.openapi import operation
from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    ID,
    OBJECT,
    QUEUE,
    STATE,
    TIME,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.schemas.jobs import PRIORITY
from jobs.api.wire.answer import Answer
from jobs.domain.access.classified import HIDDEN
from jobs.domain.job import Job
from jobs.domain.record.events import NAMES, Kind
from jobs.domain.record.past import Past
from jobs.domain.states import state_of
from jobs.domain.wire.times import format_time
from jobs.extensions.checkpoints import PastCheckpoint
from jobs.services.record.past import LONGEST_ID, PastJob, event_number, past_job

MOVED: Final = "job.moved"  # a change of state without an event of its own
CHECKPOINT = obj(
    {
        "sequence": maybe(integer(1)),
        "created_at": maybe(TIME),
        "exact": {**BOOLEAN, "description": "False: later saves may have come before this time"},
        "kept": {**BOOLEAN, "description": "Whether `state` is the checkpoint of that time"},
        "steps": array(obj({"name": text(1), "state": text(1), "began_at": maybe(TIME)})),
    },
    {"state": ANY},
)
PAST = component(
    "PastJob",
    obj(
        {
            "job_id": ID,
            "event": obj({"id": text(1), "type": text(1), "at": TIME}),
            "complete": {**BOOLEAN, "description": "Whether the record has all events before it"},
            "state": maybe(STATE),
            "previous_state": maybe(STATE),
            "since": maybe(TIME),
            "attempt": maybe(integer(0)),
            "queue": maybe(QUEUE),
            "priority": maybe(PRIORITY),
            "worker_id": maybe(text()),
            "started_at": maybe(TIME),
            "scheduled_at": maybe(TIME),
            "waits_for": maybe(obj({"step": text(1), "signals": array(text(1))})),
            "progress": maybe({"type": "number", "minimum": 0, "maximum": 1}),
            "error": maybe(OBJECT),
            "manual_retries": integer(0),
            "args": maybe(array(ANY)),
            "args_kept": BOOLEAN,
            "checkpoint": maybe(CHECKPOINT),
        }
    ),
)


class AdminJobPast(JobDetail):
    """One job at an earlier time."""

    http_method_names = ["get", "head", "options"]

    @operation(
        "adminGetPastJob",
        {200: PAST},
        query={
            "event": {
                **text(0, LONGEST_ID),
                "description": "Id of an event of the job; default: its latest event",
            }
        },
        refusals=(404,),
    )
    def get(self, request: Request, job_id: str) -> Answer:
        """Show a job as it was right after one of its events.

        A member is null if the event record no longer has it. `args` is null if a retry has
        replaced the arguments since. A checkpoint has its `state` if no later save has replaced
        it. Otherwise `steps` shows the steps of the present checkpoint that had begun.
        """
        event = request.query_params.get("event")
        number = event_number(event) if event else None
        job = self.visible(job_id)
        found = past_job(job, number)
        seen = self.as_seen(job)
        return Answer(encode(seen, found, is_open=seen is job))


def encode(job: Job, found: PastJob, *, is_open: bool) -> dict[str, Any]:
    """Encode a job at an earlier time; not `is_open`: without the state of its checkpoint."""
    past, event = found.past, found.event
    return {
        "job_id": job.id,
        "event": {"id": event.id, "type": type_of(event.kind), "at": format_time(event.at)},
        "complete": past.is_complete,
        "state": _state(past.state),
        "previous_state": _state(past.state_before),
        "since": _time(past.since),
        "attempt": past.attempt,
        "queue": past.queue,
        "priority": past.priority,
        "worker_id": past.worker_id,
        "started_at": _time(past.started_at),
        "scheduled_at": _time(past.due_at),
        "waits_for": _wait(past),
        "progress": None if past.progress_percent is None else past.progress_percent / 100,
        "error": past.error,
        "manual_retries": past.restarts,
        "args": orjson.Fragment(job.args) if found.has_args else None,
        "args_kept": found.has_args,
        "checkpoint": found.checkpoint and _checkpoint(found.checkpoint, is_open=is_open),
    }


def type_of(kind: int) -> str:
    """Return the name of an event; changes of state without an event have one, too."""
    return NAMES.get(Kind(kind), MOVED)


def _checkpoint(one: PastCheckpoint, *, is_open: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "sequence": one.sequence,
        "created_at": _time(one.created_at),
        "exact": one.is_exact,
        "kept": one.state is not None,
        "steps": [
            {"name": step.name, "state": step.state, "began_at": _time(step.began_at)}
            for step in (one.steps if is_open else ())
        ],
    }
    if one.state is not None:
        shown["state"] = orjson.Fragment(one.state) if is_open else HIDDEN
    return shown


def _wait(past: Past) -> dict[str, Any] | None:
    return None if past.step is None else {"step": past.step, "signals": list(past.signals)}


def _state(code: int | None) -> str | None:
    return None if code is None else state_of(code).value


def _time(at: datetime | None) -> str | None:
    return None if at is None else format_time(at)
