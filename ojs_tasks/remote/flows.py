"""What producers do with workflows at a server: scripts of calls. Spec: contract 8."""

from http import HTTPStatus
from math import inf
from time import monotonic
from typing import Final
from urllib.parse import quote

from ojs_tasks.exceptions import JobNotFound, ResultTimeout, WorkflowNotFound
from ojs_tasks.flows import ENDED, WorkflowSnapshot
from ojs_tasks.remote import operations
from ojs_tasks.remote.exchange import UNCERTAIN, Call, Reply, Script, asked
from ojs_tasks.remote.flow_answers import Shown, omitted, snapshot, workflow_of
from ojs_tasks.remote.operations import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    Offers,
    glance,
    held,
    pause,
    refused,
)
from ojs_tasks.remote.wire import dumps
from ojs_tasks.server import Draft

DOUBT: Final = (
    "the workflow may have started nevertheless, and is not sent again: look for it at the server"
    " before you enqueue it a second time"
)


def start(body: Draft, retries: int) -> Script[WorkflowSnapshot]:
    """Store a workflow and the jobs of its first steps.

    The server chooses the id and knows no repetitions. So the call is sent again only if the server
    has certainly not got it. Otherwise the error, ServerUnreachable or Refused, says DOUBT.
    """
    call = Call("POST", "workflows", dumps(body), is_repeatable=False, doubt=DOUBT)
    reply = (yield from asked(call, retries)).reply
    if reply.is_success:
        return snapshot(workflow_of(reply.body))
    problem = refused(reply)
    if reply.status in UNCERTAIN:
        problem.add_note(DOUBT)
    raise problem


def read(workflow_id: str, retries: int, *, with_results: bool) -> Script[WorkflowSnapshot]:
    """Return the present state of a workflow. Raises WorkflowNotFound."""
    shown = yield from _read(workflow_id, retries)
    return (yield from _complete(shown, retries)) if with_results else snapshot(shown)


def wait(
    workflow_id: str, timeout_s: float | None, retries: int, offers: Offers
) -> Script[WorkflowSnapshot]:
    """Return a workflow after its end, with results. Raises ResultTimeout, or WorkflowNotFound.

    After the first look the server may be away for a while: the wait goes on.
    """
    until = inf if timeout_s is None else monotonic() + timeout_s
    pause_s = FIRST_PAUSE_S
    shown = yield from _read(workflow_id, retries)
    while shown.get("state") not in ENDED:
        left_s = until - monotonic()
        if left_s <= 0:
            raise ResultTimeout(
                f"workflow {workflow_id} did not end in time: it was {shown.get('state')}"
            )
        if not (yield from held(_path(workflow_id), left_s, offers)):
            yield pause(min(pause_s, left_s))
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        reply = yield from glance(Call("GET", _path(workflow_id)))
        if reply is None:  # the server is away: it may have answered the held request before
            yield pause(LONGEST_PAUSE_S)
        else:
            shown = _shown(reply, workflow_id)
    return (yield from _complete(shown, retries))


def cancel(workflow_id: str, retries: int) -> Script[WorkflowSnapshot]:
    """Cancel a workflow. Raises WorkflowNotFound, or Refused when it has ended."""
    answered = yield from asked(Call("DELETE", _path(workflow_id)), retries)
    if answered.is_repeat and answered.reply.status == HTTPStatus.CONFLICT:
        found = yield from _read(workflow_id, retries)
        if found.get("state") == "cancelled":  # by the try whose answer was lost
            return snapshot(found)
    return snapshot(_shown(answered.reply, workflow_id))


def _read(workflow_id: str, retries: int) -> Script[Shown]:
    reply = (yield from asked(Call("GET", _path(workflow_id)), retries)).reply
    return _shown(reply, workflow_id)


def _complete(shown: Shown, retries: int) -> Script[WorkflowSnapshot]:
    """Add the results that the answer left out: those of the steps' jobs."""
    results = {}
    for name, job_id in omitted(shown):
        try:
            job = yield from operations.read(job_id, retries)
        except JobNotFound:
            raise JobNotFound(
                f"the server left out the result of step {name}, and its job {job_id} is gone"
            ) from None
        results[job_id] = job.result
    return snapshot(shown, results)


def _shown(reply: Reply, workflow_id: str) -> Shown:
    if reply.is_success:
        return workflow_of(reply.body)
    if reply.status == HTTPStatus.NOT_FOUND and reply.code == "not_found":
        raise WorkflowNotFound(f"workflow {workflow_id} does not exist")
    raise refused(reply)


def _path(workflow_id: str) -> str:
    return f"workflows/{quote(workflow_id, safe='')}"
