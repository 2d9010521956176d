"""Give claimed jobs the state from which they continue. Spec: contract 34.1."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from durable.metrics import observe_resumed
from durable.models import Checkpoint, Signal, Wait
from jobs.domain.job import Job
from jobs.domain.wire import jsonio
from jobs.domain.wire.times import format_time
from jobs.extensions import CheckpointFacts


def resume(jobs: Sequence[Job]) -> Mapping[str, str]:
    """Return the attributes of claimed jobs with their checkpoints and waiting signals."""
    ids = [job.id for job in jobs]
    states = {str(one.job_id): one for one in Checkpoint.objects.filter(job_id__in=ids)}
    waiting = _signals(states)
    waits = {str(one.job_id): one for one in Wait.objects.filter(job_id__in=list(states))}
    found = {}
    for job in jobs:
        attributes = jsonio.loads_object(_bytes(job.attributes))
        attributes.pop("last_checkpoint", None)
        if state := states.get(job.id):
            attributes |= _members(state, waiting.get(job.id, []), waits.get(job.id))
            observe_resumed()
        found[job.id] = jsonio.dumps(attributes).decode()
    return found


def _members(one: Checkpoint, signals: list[dict[str, Any]], wait: Wait | None) -> dict[str, Any]:
    state = orjson.Fragment(one.state)
    shown: dict[str, Any] = {
        "state": state,
        "sequence": one.sequence,
        "created_at": format_time(one.created_at),
    }
    if signals:
        shown["signals"] = signals
    if wait is not None:  # the job runs again, so this wait is over
        shown["resumed"] = {"step": wait.step, "by": "signal" if wait.is_woken else "time"}
    return {"checkpoint": shown, "last_checkpoint": state}


def _signals(jobs: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the waiting signals by job, the earliest first."""
    found: dict[str, list[dict[str, Any]]] = {}
    ids = list(jobs)
    for one in Signal.objects.filter(job_id__in=ids).order_by("job_id", "id") if ids else ():
        found.setdefault(str(one.job_id), []).append(shown_signal(one))
    return found


def shown_signal(one: Signal) -> dict[str, Any]:
    """Return a signal as answers show it."""
    return {
        "id": one.id,
        "name": one.name,
        "payload": orjson.Fragment(one.payload),
        "sent_at": format_time(one.sent_at),
    }


def facts(job: Job) -> CheckpointFacts | None:
    """Return the facts of a job's checkpoint, without its state."""
    row = (
        Checkpoint.objects.filter(job_id=job.id)
        .values_list("sequence", "created_at", "bytes")
        .first()
    )
    return None if row is None else CheckpointFacts(*row)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
