"""`step.run_job`: a job or a workflow as a step of the handler that starts it. Contract 34.2.

The id of a job is stored before the job, so that an attempt which continues finds the job instead
of a second one. The meta of the job or the workflow names its parent: at its end the server wakes
the parent. A server that does not show the parent of a workflow wakes nothing. Then the parent
looks at the workflow at growing intervals.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

from ojs_tasks.children import CANCEL, ENDED, FLOW_ENDED, PARENT, WITH_PARENT
from ojs_tasks.exceptions import (
    JobCancelled,
    JobFailed,
    JobNotFound,
    Refused,
    StepError,
    Suspended,
    WorkflowCancelled,
    WorkflowFailed,
)
from ojs_tasks.handle import JobHandle, rebuilt
from ojs_tasks.ids import new_id
from ojs_tasks.server import Snapshot, server
from ojs_tasks.signatures import Signature, Work
from ojs_tasks.step_runs import Record, StepRun
from ojs_tasks.workflow_handle import outcome_of

R = TypeVar("R")
Cancel = Literal["with_parent"]

TENANT: Final = "tenant_id"  # in the meta of a parent: its jobs have the same
LOOK: Final = timedelta(minutes=5)  # for a job that another one replaced: nothing wakes its parent
# between looks at a workflow whose end wakes nothing
SHORTEST, LONGEST = timedelta(seconds=1), timedelta(minutes=1)
OVER: Final = frozenset({"done", "job_failed"})  # states of records


class Ask(NamedTuple):
    """A call that waits for something outside, for a plain function and for a coroutine."""

    call: Callable[[], Any]
    acall: Callable[[], Awaitable[Any]]


Plan = Generator[Ask, Any, Any]


class Child(Generic[R]):
    """What a step starts."""

    def __init__(self, call: Work[R], name: str | None, cancel: Cancel | None) -> None:
        """Check the call. Raises StepError."""
        if not isinstance(call, Work):
            raise StepError(f"run_job takes a signature such as handler.s(1), not {call!r}")
        if cancel not in {None, WITH_PARENT}:
            raise StepError(f"cancel is 'with_parent' or None, not {cancel!r}")
        self.call = call
        self.cancel = cancel
        self.name = name or _default_name(call)


def _default_name(call: Work[Any]) -> str:
    return str(call.body.get("name") or call.body["type"])


def run(steps: StepRun, child: Child[R]) -> R:
    """Run the step in a plain function. Raises Suspended, JobFailed, WorkflowFailed, StepError."""
    found: R = _driven(_plan(steps, child))
    return found


async def arun(steps: StepRun, child: Child[R]) -> R:
    """Run the step in a coroutine, as `run` does."""
    steps.enter()
    try:
        found: R = await _adriven(_plan(steps, child))
    except Suspended as problem:
        suspended = problem
    else:
        return found
    finally:
        steps.leave()
    await steps.all_ended()
    raise suspended


def _driven(plan: Plan, answer: Any = None, problem: Exception | None = None) -> Any:
    try:
        ask = plan.throw(problem) if problem is not None else plan.send(answer)
    except StopIteration as end:
        return end.value
    try:
        answer, problem = ask.call(), None
    except Exception as raised:
        problem = raised
    return _driven(plan, answer, problem)


async def _adriven(plan: Plan, answer: Any = None, problem: Exception | None = None) -> Any:
    try:
        ask = plan.throw(problem) if problem is not None else plan.send(answer)
    except StopIteration as end:
        return end.value
    try:
        answer, problem = await ask.acall(), None
    except Exception as raised:
        problem = raised
    return await _adriven(plan, answer, problem)


def _plan(steps: StepRun, child: Child[Any]) -> Plan:
    record = steps.begin(child.name)
    if record is not None and record["state"] in OVER:
        return _outcome(record)
    if isinstance(child.call, Signature):
        shown = yield from _job(steps, child, record)
    else:
        shown = yield from _flow(steps, child, record)
    record = steps.records[child.name]
    if not shown.has_ended:
        raise _wait(steps, child.name, record, wakes=_wakes(steps, shown))
    steps.put(child.name, **_ended(shown), **_named(record))
    yield _save(steps, child.name)
    return _outcome(steps.records[child.name])


def _job(steps: StepRun, child: Child[Any], record: Record | None) -> Plan:
    """Return the job, which is started if it is not there."""
    if record is not None and record["state"] == "running":
        return (yield _read(record["job"]))
    if record is None:
        steps.put(child.name, state="starting", job=new_id(), **_cancels(child))
        yield _save(steps, child.name)
    found = None if record is None else (yield from _found(record["job"]))
    if found is None:
        found = yield from _started(_draft(steps, child))
    if found is None:
        raise StepError(f"step {child.name!r}: enqueue middleware dropped its job")
    named = _named(steps.records[child.name]) | {"job": found.id}
    steps.put(child.name, state="running", **named)
    try:
        yield _save(steps, child.name)
    except Refused:
        if child.cancel and not found.has_ended:  # the parent was cancelled meanwhile
            yield Ask(lambda: server().cancel(found.id), lambda: server().acancel(found.id))
        raise
    return found


def _found(job_id: str) -> Plan:
    """Return a job; None: the attempt ended between its record and its start."""
    try:
        return (yield _read(job_id))
    except JobNotFound:
        return None


def _started(draft: dict[str, Any]) -> Plan:
    stored = yield Ask(lambda: server().enqueue([draft]), lambda: server().aenqueue([draft]))
    return stored[0]


def _flow(steps: StepRun, child: Child[Any], record: Record | None) -> Plan:
    """Return the workflow with its results; it is started if it is not there."""
    if record is None:
        body = _body(steps, child)
        started = yield Ask(
            lambda: server().start_workflow(body), lambda: server().astart_workflow(body)
        )
        steps.put(child.name, state="running", workflow=started.id, **_cancels(child))
        try:
            yield _save(steps, child.name)
        except Refused:
            if child.cancel:  # the parent was cancelled meanwhile
                yield from _stopped(started.id)
            raise
    flow_id = steps.records[child.name]["workflow"]
    return (
        yield Ask(
            lambda: server().read_workflow(flow_id, with_results=True),
            lambda: server().aread_workflow(flow_id, with_results=True),
        )
    )


def _stopped(flow_id: str) -> Plan:
    """Cancel a workflow that may have ended."""
    with suppress(Refused):
        yield Ask(
            lambda: server().cancel_workflow(flow_id), lambda: server().acancel_workflow(flow_id)
        )


def _draft(steps: StepRun, child: Child[Any]) -> dict[str, Any]:
    inherited = {name: value for name, value in steps.context.meta.items() if name == TENANT}
    body = child.call.body
    meta = {**inherited, **body.get("meta", {}), **_family(steps, child)}
    return {**body, "id": steps.records[child.name]["job"], "meta": meta}


def _body(steps: StepRun, child: Child[Any]) -> dict[str, Any]:
    """Return the request of a workflow. Its steps may name another tenant than the parent's."""
    body = child.call.body
    inherited = {} if _names_tenant(body) else steps.context.meta
    meta = {name: value for name, value in inherited.items() if name == TENANT}
    return {**body, "meta": {**meta, **body.get("meta", {}), **_family(steps, child)}}


def _names_tenant(body: Mapping[str, Any]) -> bool:
    inner = (*body.get("steps", ()), *body.get("jobs", ()), *body.get("callbacks", {}).values())
    return TENANT in body.get("meta", {}) or any(map(_names_tenant, inner))


def _family(steps: StepRun, child: Child[Any]) -> dict[str, str]:
    """Return the members of `meta` that name the parent."""
    return {PARENT: steps.context.id, **_cancels(child)}


def _cancels(child: Child[Any]) -> dict[str, str]:
    return {CANCEL: child.cancel} if child.cancel else {}


def _wakes(steps: StepRun, shown: Any) -> bool:
    """Return whether the server wakes this job at the end of what the step started."""
    return isinstance(shown, Snapshot) or shown.parent_job_id == steps.context.id


def _read(job_id: str) -> Ask:
    return Ask(lambda: server().read(job_id), lambda: server().aread(job_id))


def _save(steps: StepRun, name: str) -> Ask:
    return Ask(lambda: steps.save(name), lambda: steps.asave(name))


def _named(record: Record) -> Record:
    """Return the members that name what was started."""
    return {one: record[one] for one in ("job", "workflow", CANCEL) if one in record}


def _wait(steps: StepRun, name: str, record: Record, *, wakes: bool) -> Suspended:
    now = datetime.now(UTC)
    if wakes:
        ended = (
            f"{ENDED}{record['job']}" if "job" in record else f"{FLOW_ENDED}{record['workflow']}"
        )
        return steps.suspension(name, now + LOOK, (ended,))
    began = datetime.fromisoformat(record["at"])
    return steps.suspension(name, now + min(LONGEST, max(SHORTEST, (now - began) / 4)))


def _ended(shown: Any) -> Record:
    """Return the record of an end: the result, or the facts of the failure."""
    try:
        found = JobHandle(shown).result(0) if isinstance(shown, Snapshot) else outcome_of(shown)
    except JobFailed as problem:
        return {"state": "job_failed", "ended": problem.state, "error": problem.error}
    except WorkflowFailed as problem:
        where = {"step": problem.step, "type": problem.job_type}
        return {"state": "job_failed", "ended": problem.state, "error": problem.error, **where}
    return {"state": "done", "result": found}


def _outcome(record: Record) -> Any:
    """Return a stored result, or raise a stored failure."""
    if record["state"] == "done":
        return record["result"]
    is_cancelled = record["ended"] == "cancelled"
    if "workflow" in record:
        flow = WorkflowCancelled if is_cancelled else WorkflowFailed
        raise flow(
            record["workflow"], record["ended"], record["step"], record["type"], record["error"]
        )
    kind = JobCancelled if is_cancelled else JobFailed
    failed = kind(record["job"], record["ended"], record["error"])
    raise failed from rebuilt(failed)
