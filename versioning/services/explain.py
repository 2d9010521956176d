"""Tell of the version of a waiting job. Spec: job-versioning 8.2."""

from jobs.domain.gates import Gate, GateState
from jobs.domain.job import Job
from jobs.domain.version import Version
from versioning.domain.canary import Key, waits_for
from versioning.services.acceptance import Acceptance, acceptance, of_workers
from versioning.services.routes import latest


def explain(job: Job, viewer: str | None) -> list[Gate]:
    """Return the gate of a job that waits for a version: its own, or one that rules sent it to."""
    key = job.route
    if not key:
        return []
    routes = latest()
    if key not in routes.by_id:
        return []
    rules = routes.rules.get(routes.by_id[key].type)
    version = waits_for(routes.by_id[key], rules)
    if version is None:
        return []
    fallen = routes.fallen_in([job.queue])
    found = acceptance(of_workers(job.queue), routes, key, fallen)
    return [_gate(job, routes.by_id[key], version, found, viewer)]


def _gate(job: Job, key: Key, version: Version, found: Acceptance, viewer: str | None) -> Gate:
    sent = (
        "" if version == key.version else f" The routing rules of {key.type} sent it to {version}."
    )
    waits = f"It is waiting for a worker that accepts {version} of {key.type}"
    if found.accepting:
        state, message = GateState.OPEN, f"Workers that run accept {version} of {key.type}."
    elif found.unheard:
        state = GateState.UNKNOWN
        message = f"Only workers that do not heartbeat accept {version} of {key.type}."
    elif found.running:
        state = GateState.CLOSED
        message = f"{waits}: none does of those that run and fetch queue {job.queue}."
    else:
        state, message = GateState.UNKNOWN, f"{waits}; none runs that is heard of."
    numbers = {"running": found.running, "accepting": found.accepting} if viewer is None else {}
    return Gate("version", state, message + sent, name=str(version), numbers=numbers)
