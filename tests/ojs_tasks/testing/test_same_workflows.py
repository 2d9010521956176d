"""The same programs give the same results and states on every server.

The real server runs them in the test's database, once by a claim after the other and once in eager
mode. The server in memory runs them in the same two ways.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from jobs.models import Job
from ojs_tasks import (
    Discard,
    Handler,
    JobFailed,
    Refused,
    Retry,
    WorkflowFailed,
    WorkflowHandle,
    batch,
    chain,
    current_job,
    get_workflow,
    group,
    job,
)
from ojs_tasks.flows import StepSnapshot, WorkflowSnapshot
from ojs_tasks.server import server
from ojs_tasks.term_types import RetryTerms
from ojs_tasks.testing import enqueued, in_memory, make_due, run_available, run_now
from workflows.models import Workflow

PLACES = ("database", "database, eager", "memory", "memory, eager")
Program = Callable[[], Any]  # a workflow to enqueue


@pytest.fixture(autouse=True)
def handlers(no_handlers: None) -> None:
    """Register the handlers of all programs."""
    once: RetryTerms = {"max_attempts": 1}
    made: list[Handler[..., Any]] = [
        job("flow.add", retry=once)(add),
        job("flow.aadd", queue="other")(aadd),
        job("flow.seen")(seen),
        job("flow.fail", retry=once)(fail),
        job("flow.none")(none),
        job("flow.stop")(raising(Discard("enough"))),
        job("flow.twice", retry={"max_attempts": 3, "initial_interval": "PT1H"})(twice),
        job("flow.dont", dont_retry_for=(ValueError,))(raising(ValueError("for good"))),
        job("flow.listed", retry={"non_retryable_errors": ["KeyError"]})(raising(KeyError("one"))),
        job("flow.strange", retry=once)(object),
        job("flow.cancel_self")(cancel_self),
        job("flow.high", priority=10)(none),
    ]
    _calls.update({one.type: one.s for one in made})


def add(number: int) -> int:
    """Add a number to the results of the steps before."""
    return number + _sum(current_job().parent_results or [])


async def aadd(number: int) -> int:
    """Double a number."""
    await asyncio.sleep(0)
    return number * 2


def seen(name: str = "") -> list[Any]:
    """Return the results of the steps before as they arrive."""
    return [name, current_job().parent_results]


def fail(text: str) -> None:
    """Fail."""
    raise LookupError(text)


def none() -> None:
    """Return nothing."""


def twice() -> int:
    """Succeed at the second attempt."""
    if current_job().attempt == 1:
        raise Retry("again")
    return current_job().attempt


def cancel_self() -> str:
    """Cancel the workflow of this job."""
    get_workflow(str(current_job().workflow_id)).cancel()
    return "finished"


def raising(problem: Exception) -> Callable[[], None]:
    """Return a handler that raises."""

    def handler() -> None:
        raise problem

    return handler


_calls: dict[str, Callable[..., Any]] = {}


def call(name: str, *args: Any) -> Any:
    """Return a call of a handler."""
    return _calls[f"flow.{name}"](*args)


def _sum(results: Any) -> int:
    if isinstance(results, list):
        return sum(map(_sum, results))
    return results or 0


PROGRAMS: dict[str, Program] = {
    "one step": lambda: chain(call("add", 1)),
    "chain": lambda: chain(call("add", 1), call("add", 10), call("seen"), name="sums"),
    "group": lambda: group(call("add", 1), call("add", 2), call("none")),
    "group in a chain": lambda: chain(
        call("add", 1), group(call("seen", "a"), call("seen", "b")), call("seen")
    ),
    "chain in a group": lambda: group(chain(call("add", 1), call("add", 2)), call("seen")),
    "three levels": lambda: chain(
        group(chain(call("add", 1), call("add", 2)), call("none")), call("seen")
    ),
    "batch in a chain": lambda: chain(
        batch([call("add", 1), call("fail", "x")], on_complete=call("seen", "c")), call("seen")
    ),
    "coroutines in another queue": lambda: chain(call("aadd", 4), group(call("aadd", 5))),
    "batch that succeeds": lambda: batch(
        [call("add", 1), call("add", 2)],
        on_complete=call("seen", "c"), on_success=call("seen", "s"), on_failure=call("seen", "f"),
    ),
    "batch that fails": lambda: batch(
        [call("add", 1), call("fail", "no")],
        on_complete=call("seen", "c"), on_success=call("seen", "s"), on_failure=call("seen", "f"),
    ),
    "batch without an answer to failures": lambda: batch(
        [call("fail", "no")], on_success=call("seen", "s")
    ),
    "batch whose callback fails": lambda: batch(
        [call("add", 1)], on_complete=call("fail", "callback"), on_success=call("seen", "s")
    ),
    "failed first step": lambda: chain(call("fail", "first"), call("add", 1), call("add", 2)),
    "failed last step": lambda: chain(call("add", 1), call("fail", "last")),
    "failed member": lambda: group(call("fail", "member"), call("add", 2), call("add", 3)),
    "failed nested group": lambda: chain(
        call("add", 1),
        group(call("fail", "inside"), call("add", 5)),
        chain(call("add", 7), group(call("add", 8))),
    ),
    "failed nested chain": lambda: group(chain(call("fail", "x"), call("add", 1)), call("add", 2)),
    "discarded step": lambda: chain(call("stop"), call("add", 1)),
    "error that is not retried": lambda: chain(call("dont"), call("add", 1)),
    "listed error": lambda: group(call("listed"), call("add", 1)),
    "result that is no JSON": lambda: chain(call("strange"), call("add", 1)),
    "retried step": lambda: chain(call("add", 1), call("twice"), call("seen")),
    "later step": lambda: chain(call("add", 1), call("add", 5).options(delay=3600), call("seen")),
    "step that cancels": lambda: chain(call("add", 1), call("cancel_self"), call("seen")),
    "member that cancels": lambda: group(call("cancel_self"), call("add", 1), call("seen")),
    "batch that cancels": lambda: batch(
        [call("cancel_self"), call("add", 1)], on_complete=call("seen", "c")
    ),
    "priorities": lambda: group(call("add", 1), call("high"), call("add", 2)),
}  # fmt: skip


@pytest.fixture(params=PLACES)
def where(request: pytest.FixtureRequest) -> Iterator[str]:
    """Have the jobs of the test in each of the places."""
    if "memory" in request.param:
        with in_memory():
            yield request.param
    else:
        request.getfixturevalue("db")
        yield request.param


def facts(handle: WorkflowHandle[Any]) -> dict[str, Any]:
    """Return what a program can see of a workflow, without ids."""
    shown: WorkflowSnapshot = handle.refresh()._snapshot
    results = handle.results()
    return {
        "handle": (handle.type, handle.name, handle.state, tuple(handle.progress)),
        "steps": [_step(one) for one in shown.steps],
        "callbacks": [_step(one) for one in shown.callbacks],
        "results": results,
        "end": _end(handle),
        "jobs": [(one.type, one.queue, one.state, one.args) for one in enqueued()],
    }


def _step(step: StepSnapshot) -> Any:
    error = step.error and (step.error["type"], step.error["code"], step.error.get("attempt"))
    return (
        step.id,
        step.type,
        step.state,
        step.job_id is None,
        error,
        list(map(_step, step.steps)),
    )


def _end(handle: WorkflowHandle[Any]) -> Any:
    try:
        return handle.result(0)
    except WorkflowFailed as failed:
        cause = failed.__cause__
        message = str(failed.error.get("message")).partition(" 0")[0]  # without ids
        inner = (type(cause), type(cause.__cause__)) if isinstance(cause, JobFailed) else None
        return (type(failed).__name__, failed.step, failed.job_type, message, inner)
    except Exception as problem:  # it has not ended
        return type(problem).__name__


def played(where: str, program: Program) -> list[dict[str, Any]]:
    """Enqueue a workflow and run it in a way of the place; return what is seen after each part."""
    is_eager = "eager" in where
    with run_now(raises=False) if is_eager else nullcontext():
        handle = program().enqueue()
    seen: list[dict[str, Any]] = []
    for _ in range(3):
        if not is_eager or seen:
            run_available(raises=False)
        seen.append(facts(handle))
        make_due()
    return seen


_expected: dict[str, list[dict[str, Any]]] = {}  # by the real server, which comes first


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_workflow_ends_alike_everywhere(
    request: pytest.FixtureRequest, db: None, name: str
) -> None:
    found = {}
    for place in PLACES:
        with in_memory() if "memory" in place else nullcontext():
            found[place] = played(place, PROGRAMS[name])
        request.getfixturevalue("db")
        _forget()

    for place in PLACES[1:]:
        assert found[place] == found["database"]


def _forget() -> None:
    """Remove all jobs and workflows of the database."""
    Job.objects.all().delete()
    Workflow.objects.all().delete()


def test_the_exception_of_a_step_is_raised_at_the_enqueue(where: str) -> None:
    flow = chain(call("add", 1), call("fail", "loud"), call("add", 2))

    if "eager" in where:
        with run_now(), pytest.raises(LookupError, match="loud"):
            flow.enqueue()
    else:
        flow.enqueue()
        with pytest.raises(LookupError, match="loud"):
            run_available()

    assert [one.state for one in enqueued()] == ["completed", "discarded"]


def test_a_workflow_of_a_handler_runs_inside_it(where: str) -> None:
    @job("flow.outer")
    def outer() -> Any:
        handle = chain(call("add", 1), call("add", 2)).enqueue()
        return handle.result(0) if "eager" in where else handle.state

    with run_now() if "eager" in where else nullcontext():
        handle = outer.enqueue()
    run_available()

    assert handle.refresh().result(0) == (3 if "eager" in where else "running")


def test_cancel_ends_a_workflow_once(where: str) -> None:
    with run_now() if "eager" in where else nullcontext():
        handle = chain(call("add", 1).options(delay=60), group(call("add", 2))).enqueue()

    assert handle.cancel().state == "cancelled"
    assert [one.state for one in handle.steps] == ["cancelled", "cancelled"]
    assert [one.state for one in enqueued()] == ["cancelled"]
    with pytest.raises(Refused) as caught:
        handle.cancel()
    assert (caught.value.code, caught.value.status) == ("conflict", 409)


def test_a_cancelled_step_fails_its_workflow(where: str) -> None:
    with run_now() if "eager" in where else nullcontext():
        handle = chain(call("add", 1).options(delay=60), call("add", 2)).enqueue()

    job_id = handle.steps[0].job_id
    assert job_id is not None
    server().cancel(job_id)

    assert handle.refresh().state == "failed"
    assert [one.state for one in handle.steps] == ["cancelled", "cancelled"]
    with pytest.raises(WorkflowFailed, match="the job was cancelled"):
        handle.result(0)


def test_the_event_loop_runs_workflows_too(where: str) -> None:
    async def use() -> Any:
        handle = await chain(call("add", 1), call("aadd", 4)).aenqueue()
        return handle.state, await handle.aresults()

    if where == "memory, eager":
        with run_now():
            assert asyncio.run(use()) == ("completed", [1, 8])
    elif where == "memory":
        assert asyncio.run(use()) == ("running", [None, None])
