"""Workflows of signatures: their requests, and what their handles say."""

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from ojs_tasks import (
    JobCancelled,
    JobFailed,
    Signature,
    UnknownTerm,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowHandle,
    batch,
    chain,
    group,
    job,
    server,
)
from ojs_tasks.flows import StepSnapshot, WorkflowProgress, WorkflowSnapshot
from tests.ojs_tasks.servers import Memory

A, B = Signature[int]("tests.a", [1]), Signature[str]("tests.b", [], {"queue": "slow"})
WRONG_CHAIN: Any = chain  # as untyped code calls them
WRONG_GROUP: Any = group
WRONG_BATCH: Any = batch
BODY_A = {"type": "tests.a", "args": [1]}
BODY_B = {"type": "tests.b", "args": [], "queue": "slow"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    """Use a server in memory."""
    made = Memory()
    server.use(made)
    yield made
    server.use(None)


def step(number: int, state: str = "completed", **members: Any) -> StepSnapshot:
    """Return a step."""
    return StepSnapshot(f"step-{number}", "tests.a", state, f"job-{number}", **members)


def flow(state: str, *steps: StepSnapshot, kind: str = "chain", **members: Any) -> WorkflowSnapshot:
    """Return a workflow."""
    return WorkflowSnapshot("flow-0", kind, "", state, steps, **members)


def handle(shown: WorkflowSnapshot) -> WorkflowHandle[Any]:
    """Return the handle of a workflow."""
    return WorkflowHandle(shown)


@pytest.mark.parametrize(
    ("made", "body"),
    [
        (chain(A, B), {"type": "chain", "steps": [BODY_A, BODY_B]}),
        (chain(A, name="n"), {"type": "chain", "steps": [BODY_A], "name": "n"}),
        (group(A, A), {"type": "group", "jobs": [BODY_A, BODY_A]}),
        (
            chain(A, group(B, B)),
            {"type": "chain", "steps": [BODY_A, {"type": "group", "jobs": [BODY_B, BODY_B]}]},
        ),
        (
            batch([A], on_complete=B, on_failure=A),
            {
                "type": "batch",
                "jobs": [BODY_A],
                "callbacks": {"on_complete": BODY_B, "on_failure": BODY_A},
            },
        ),
    ],
)
def test_a_workflow_is_a_typed_request(memory: Memory, made: Any, body: dict[str, Any]) -> None:
    assert made.enqueue().state == "running"
    assert async_to_sync(made.aenqueue)().id == "flow-0"

    assert memory.bodies == [body, body]


@pytest.mark.parametrize(
    ("make", "problem", "words"),
    [
        (WRONG_CHAIN, ValueError, "at least one"),
        (WRONG_GROUP, ValueError, "at least one"),
        (lambda: WRONG_GROUP([A, A]), TypeError, r"group\(\*calls\)"),
        (lambda: WRONG_CHAIN(5), TypeError, "signatures such as"),
        (lambda: WRONG_CHAIN(job("tests.a")(lambda: None)), TypeError, "signatures such as"),
        (lambda: WRONG_CHAIN(A.options(id="x")), UnknownTerm, "no term 'id'"),
        (lambda: WRONG_BATCH([A]), ValueError, "use group"),
        (lambda: WRONG_BATCH([A], on_complete=group(A)), TypeError, "a callback is no workflow"),
        (lambda: WRONG_BATCH(A, on_complete=A), TypeError, "a list of signatures"),
    ],
)
def test_what_is_no_workflow_is_refused(make: Any, problem: type[Exception], words: str) -> None:
    with pytest.raises(problem, match=words):
        make()


def test_progress_counts_the_jobs_of_nested_workflows() -> None:
    inner = StepSnapshot(
        "step-1", "group", "active", steps=(step(0), step(1, "failed"), step(2, "pending"))
    )

    shown = handle(flow("running", step(0), inner, step(2, "waiting")))

    assert shown.progress == WorkflowProgress(done=2, failed=1, total=5)


@pytest.mark.parametrize(
    ("shown", "result"),
    [
        (flow("completed", step(0, result=1), step(1, result=2)), 2),
        (flow("completed", step(0, result=1), step(1, result=2), kind="group"), [1, 2]),
        (flow("completed", step(0, "failed"), step(1, result=2), kind="batch"), [None, 2]),
        (
            flow(
                "completed",
                StepSnapshot(
                    "step-0", "chain", "completed", None, [1, 2],
                    steps=(step(0, result=1), step(1, result=2)),
                ),
                kind="group",
            ),
            [2],
        ),
    ],
)  # fmt: skip
def test_the_result_is_that_of_the_last_step_or_of_all(
    memory: Memory, shown: WorkflowSnapshot, result: Any
) -> None:
    memory.flow = shown

    assert handle(flow("running")).result(timeout=2) == result
    assert async_to_sync(handle(flow("running")).aresult)() == result
    assert memory.waits == [2, None]


def test_a_failed_workflow_names_its_step_and_error(memory: Memory) -> None:
    error = {"type": "ZeroDivisionError", "message": "no"}
    inner = StepSnapshot(
        "step-1", "chain", "failed", error={"type": "workflow_failed"},
        steps=(step(0, "failed", error=error), step(1, "cancelled")),
    )  # fmt: skip
    memory.flow = flow("failed", step(0), inner, step(2, "cancelled"))

    with pytest.raises(WorkflowFailed) as raised:
        handle(flow("running")).result()

    failed = raised.value
    assert str(failed) == (
        "workflow flow-0 is failed: step step-1/step-0 (tests.a): ZeroDivisionError: no"
    )
    assert (failed.step, failed.job_type, failed.error) == ("step-1/step-0", "tests.a", error)
    assert isinstance(failed.__cause__, JobFailed)
    assert failed.__cause__.id == "job-0"
    assert isinstance(failed.__cause__.__cause__, ZeroDivisionError)
    assert str(pickle.loads(pickle.dumps(failed))) == str(failed)  # noqa: S301 - our own


def test_a_step_whose_job_was_cancelled_fails_the_workflow(memory: Memory) -> None:
    error = {"type": "cancelled", "message": "by hand"}
    memory.flow = flow("failed", step(0, "cancelled", error=error), step(1, "cancelled"))

    with pytest.raises(WorkflowFailed, match="step-0") as raised:
        handle(flow("running")).result()
    assert isinstance(raised.value.__cause__, JobCancelled)


def test_a_failed_callback_is_named(memory: Memory) -> None:
    callback = StepSnapshot("on_complete", "tests.b", "failed", "job-9", error={"type": "E"})
    memory.flow = flow("failed", step(0), kind="batch", callbacks=(callback,))

    with pytest.raises(WorkflowFailed, match="on_complete"):
        handle(flow("running")).result()


def test_a_cancelled_workflow_raises(memory: Memory) -> None:
    memory.flow = flow("cancelled", step(0), step(1, "cancelled"))

    with pytest.raises(WorkflowCancelled, match=r"is cancelled$"):
        handle(flow("running")).result()
    assert handle(flow("running")).cancel().state == "cancelled"
    assert async_to_sync(handle(flow("running")).acancel)().state == "cancelled"


def test_results_are_those_that_later_steps_receive(memory: Memory) -> None:
    nested = StepSnapshot("step-1", "group", "completed", None, [2, 3], steps=(step(0), step(1)))
    memory.flow = flow("running", step(0, result=1), nested, step(2, "waiting"))
    found = handle(flow("running"))

    assert found.results() == [1, [2, 3], None]
    assert async_to_sync(found.aresults)() == [1, [2, 3], None]
