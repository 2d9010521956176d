"""Explain a job that waits for a version. Spec: job-versioning 8.2."""

from dataclasses import replace

from jobs.domain.dispatch.gates import Gate, GateState
from jobs.domain.job import Job
from ojs_tasks.versions import Version
from versioning.domain.canary import Key, waits_for
from versioning.services.acceptance import (
    Acceptance,
    acceptance,
    acceptance_unversioned,
    of_workers,
)
from versioning.services.routes import latest


def explain(job: Job, viewer: str | None) -> list[Gate]:
    """Return the gate of a job that waits for a version: its own or the drawn version."""
    key = job.route
    if not key:
        return _unversioned(job, viewer) if job.version is None else []
    routes = latest()
    if key not in routes.by_id:
        return []
    rules = routes.rules.get(routes.by_id[key].type)
    version = waits_for(routes.by_id[key], rules)
    if version is None:
        return _unversioned(job, viewer)
    fallen = routes.fallen_in([job.queue])
    found = acceptance(of_workers(job.queue), routes, key, fallen)
    return [_gate(job, routes.by_id[key], version, found, viewer)]


def _unversioned(job: Job, viewer: str | None) -> list[Gate]:
    """Return the gate of an unversioned job; none if no worker refuses it."""
    found = acceptance_unversioned(workers := of_workers(job.queue), job.type)
    if found.accepting == found.running and found.unheard == sum(w.unheard for w in workers):
        return []
    return [_said(job, f"{job.type} without a version", "", found, viewer)]


def _gate(job: Job, key: Key, version: Version, found: Acceptance, viewer: str | None) -> Gate:
    sent = (
        "" if version == key.version else f" The routing rules of {key.type} sent it to {version}."
    )
    gate = _said(job, f"{version} of {key.type}", sent, found, viewer)
    return replace(gate, name=str(version))


def _said(job: Job, what: str, sent: str, found: Acceptance, viewer: str | None) -> Gate:
    waits = f"It is waiting for a worker that accepts {what}"
    if found.accepting:
        state, message = GateState.OPEN, f"Workers that run accept {what}."
    elif found.unheard:
        state = GateState.UNKNOWN
        message = f"Only workers that do not heartbeat accept {what}."
    elif found.running:
        state = GateState.CLOSED
        message = f"{waits}: none does of those that run and fetch queue {job.queue}."
    else:
        state, message = GateState.UNKNOWN, f"{waits}; none runs that is heard of."
    numbers = {"running": found.running, "accepting": found.accepting} if viewer is None else {}
    return Gate("version", state, message + sent, numbers=numbers)
