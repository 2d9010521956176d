"""Tell of the version of a waiting job. Spec: job-versioning 8.2."""

import orjson

from jobs.domain.gates import Gate, GateState
from jobs.domain.job import Job
from jobs.domain.version import parse_version, split_type
from versioning.services.acceptance import acceptance, of_workers


def explain(job: Job, viewer: str | None) -> list[Gate]:
    """Return the gate of a job that has a version; one statement, none for others."""
    if job.version is None:
        return []
    version = parse_version(orjson.loads(job.version))
    base, _ = split_type(job.type)
    found = acceptance(of_workers(job.queue), base, version)
    waits = f"It is waiting for a worker that accepts {version} of {base}"
    if found.accepting:
        state, message = GateState.OPEN, f"Workers that run accept {version} of {base}."
    elif found.unheard:
        state = GateState.UNKNOWN
        message = f"Only workers that do not heartbeat accept {version} of {base}."
    elif found.running:
        state = GateState.CLOSED
        message = f"{waits}: none does of those that run and fetch queue {job.queue}."
    else:
        state, message = GateState.UNKNOWN, f"{waits}; none runs that is heard of."
    numbers = {"running": found.running, "accepting": found.accepting} if viewer is None else {}
    return [Gate("version", state, message, name=str(version), numbers=numbers)]
