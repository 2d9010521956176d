"""Workflows as clients send them, and operations on their jobs."""

from collections.abc import Iterable
from typing import Any

import orjson

from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.envelope import parse_job
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.show import show as show_job
from tests.factories import error
from workflows.api.codec import encode_workflow
from workflows.domain.limits import SHOWN_RESULTS_BYTES
from workflows.domain.request import parse_workflow
from workflows.services.show import show
from workflows.services.start import start


def job(type: str = "flow.step", **members: Any) -> dict[str, Any]:
    """Return a step that is a job."""
    return {"type": type, "args": [], **members}


def chain(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a typed chain."""
    return {"type": "chain", "steps": list(steps), **members}


def group(*jobs: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a typed group."""
    return {"type": "group", "jobs": list(jobs), **members}


def batch(*jobs: dict[str, Any], **callbacks: dict[str, Any]) -> dict[str, Any]:
    """Return a typed batch."""
    return {"type": "batch", "jobs": list(jobs), "callbacks": callbacks}


def graph(**after: str) -> dict[str, Any]:
    """Return a step graph: `graph(a="", b="a", c="a b")`."""
    return {
        "steps": [job(f"flow.{n}", id=n, depends_on=before.split()) for n, before in after.items()]
    }


def created(body: dict[str, Any], caller: Caller = SYSTEM) -> str:
    """Store a workflow; return its id."""
    return start(parse_workflow(body, parse_job), caller)


def seen(workflow_id: str, most_bytes: int = SHOWN_RESULTS_BYTES) -> dict[str, Any]:
    """Return a workflow as the API shows it."""
    shown = encode_workflow(show(workflow_id, most_bytes=most_bytes))
    found: dict[str, Any] = orjson.loads(orjson.dumps(shown))
    return found


def states(workflow_id: str) -> list[str]:
    """Return the shown states of the members."""
    return [step["state"] for step in seen(workflow_id)["steps"]]


def claimed(queue: str = "default", count: int = 100) -> list[Job]:
    """Claim all available jobs."""
    return list(fetch(FetchRequest((queue,), count=count)).jobs)


def by_type(jobs: Iterable[Job]) -> dict[str, Job]:
    """Return jobs by their type."""
    return {one.type: one for one in jobs}


def envelope(one: Job | str) -> dict[str, Any]:
    """Return the members of a job that were fixed at its creation."""
    found = show_job(one) if isinstance(one, str) else one
    members: dict[str, Any] = orjson.loads(found.attributes)
    return members


def complete(*jobs: Job, result: Any = None) -> None:
    """Acknowledge jobs with one call."""
    text = None if result is None else orjson.dumps(result)
    refused = [one for one in ack([Ack(one.id, text) for one in jobs]) if isinstance(one, OJSError)]
    assert not refused


def fail(*jobs: Job, retryable: bool = False) -> None:
    """Fail jobs with one call, for good unless `retryable`."""
    nacks = [Nack(one.id, error(retryable=retryable)) for one in jobs]
    assert not [one for one in nack(nacks) if isinstance(one, OJSError)]


def run(queue: str = "default", *, failing: Iterable[str] = ()) -> list[str]:
    """Claim and end jobs until none is left; return their types in order."""
    types: list[str] = []
    while found := claimed(queue):
        for one in found:
            (fail if one.type in set(failing) else complete)(one)
            types.append(one.type)
    return types
