"""Causes from the explanation of a waiting job: its closed gates in the words of operators."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from attention.domain.rule import Remedy, page
from console.why.causes import (
    ALONE,
    HELD,
    Cause,
    maintenance_on,
    queue_paused,
    tenant_suspended,
    tenant_throttled,
)
from jobs.domain.dispatch.gates import Gate, causes_of
from jobs.domain.job import Job

_SHOW_WORKERS: Final = page("Show workers", "workers", ended="1")


def causes_of_job(job: Job, gates: Sequence[Gate]) -> list[Cause]:
    """Return the causes for which a waiting job does not start; none if it only waits its turn."""
    closed = causes_of(gates)
    known = {gate.gate for gate in closed}
    found = [
        _CAUSES.get(gate.gate, _other)(job, gate)
        for gate in closed
        if not known & _EXPLAINED_BY.get(gate.gate, set())
    ]
    return [*found, *(_throttled(gate) for gate in gates if gate.gate == "throttle")]


# gates whose cause another closed gate names better
_EXPLAINED_BY: Final[Mapping[str, set[str]]] = {"worker": {"isolation"}, "pools": {"worker"}}


def _other(_: Job, gate: Gate) -> Cause:
    return Cause(gate.message, since=gate.since, until=gate.until)


def _maintenance(_: Job, gate: Gate) -> Cause:
    found = maintenance_on(None, gate.since, gate.until)
    return replace(found, detail=gate.message)


def _queue(job: Job, gate: Gate) -> Cause:
    return queue_paused(job.queue, gate.since) if gate.since else _other(job, gate)


def _suspension(job: Job, gate: Gate) -> Cause:
    return tenant_suspended(gate.name or job.tenant)


def _throttled(gate: Gate) -> Cause:
    return tenant_throttled(gate.name or "", gate.message, gate.since, gate.until)


def _limit(_job: Job, gate: Gate) -> Cause:
    kind, _, name = (gate.name or "").partition(":")
    of = f"{kind} {name}" if kind in _LIMITS and name else gate.name
    remedies = (_limit_remedy(gate.name or ""),)
    if gate.numbers.get("concurrency") == 0:
        return Cause(f"The limit of {of} is 0, so no job starts.", "", remedies, until=gate.until)
    return Cause(f"The limit of {of} is reached.", gate.message, remedies, until=gate.until)


_LIMITS: Final = ("queue", "tenant", "type")


def _limit_remedy(limit: str) -> Remedy:
    kind, _, name = limit.partition(":")
    if kind == "queue" and name:
        return page("Change the limit", "queue", name, anchor="configuration")
    if kind == "tenant" and name:
        return page("Change the limit", "tenant_edit", name)
    return Remedy("Show the limit", page="limits", query=(("name", limit),))


def _worker(job: Job, gate: Gate) -> Cause:
    return Cause(
        f"No live worker takes the jobs of queue {job.queue}.", gate.message, (_SHOW_WORKERS,),
        ALONE,
    )  # fmt: skip


def _pools(job: Job, gate: Gate) -> Cause:
    return Cause(
        f"No live worker of a pool may take jobs of queue {job.queue}.", gate.message,
        (page("Show pools", "pools"), _SHOW_WORKERS), ALONE,
    )  # fmt: skip


def _pool(_: Job, gate: Gate) -> Cause:
    name = gate.name or ""
    return Cause(
        f"Pool {name} runs as many jobs as it may.", gate.message,
        (page("Change the limit", "pool_edit", name), page("Show pool", "pool", name)),
    )  # fmt: skip


def _version(job: Job, gate: Gate) -> Cause:
    what = f"version {gate.name} of {job.type}" if gate.name else f"{job.type} without a version"
    return Cause(
        f"No running worker accepts {what}.", gate.message,
        (page("Show versions", "versions_of_type", job.type), _SHOW_WORKERS), HELD,
    )  # fmt: skip


def _timed(text: str) -> Callable[[Job, Gate], Cause]:
    return lambda _, gate: Cause(text, gate.message, since=gate.since, until=gate.until)


_CAUSES: Final[Mapping[str, Callable[[Job, Gate], Cause]]] = {
    "maintenance": _maintenance,
    "queue": _queue,
    "suspension": _suspension,
    "limit": _limit,
    "worker": _worker,
    "pools": _pools,
    "isolation": _pools,
    "pool": _pool,
    "version": _version,
    "schedule": _timed("The job is scheduled for later."),
    "retry": _timed("The job waits for its next attempt."),
    "activation": _timed("The job waits for its activation."),
    "expiry": _timed("The job has expired."),
    "schedule_turn": _timed("The run before it has not ended."),
    "step": _timed("The job waits in a step of its handler."),
    "lane": _timed("The lane of the job is closed."),
}
