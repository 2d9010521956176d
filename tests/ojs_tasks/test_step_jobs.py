"""Jobs and workflows as steps, with jobs in memory and in the database. Spec: contract 34.2."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ojs_tasks import JobFailed, WorkflowFailed, chain, current_job, get, group, job, step
from ojs_tasks.flows import WorkflowSnapshot
from ojs_tasks.handlers import Handler
from ojs_tasks.server import server
from ojs_tasks.step_runs import StepRun
from ojs_tasks.testing import enqueued, make_due, run_available, run_now
from tests.ojs_tasks.testing.conftest import place
from tests.spec import spec

__all__ = ["place"]

calls: list[int] = []


@pytest.fixture(autouse=True)
def recorded(place: str) -> None:
    """Run each test in both places, and record the calls of children."""
    calls.clear()


def child_of_tests(**terms: Any) -> Handler[[int], int]:
    """Make the handler of the children."""

    @job("tests.child", **terms)
    def double(number: int) -> int:
        calls.append(number)
        if number < 0:
            raise ValueError("negative")
        return 2 * number

    return double


def run(**options: Any) -> list[Any]:
    """Run the jobs that are available; return their types, states and results."""
    return [(one.type, one.state, one.result) for one in run_available(raises=False, **options)]


@spec("contract 34.2")
def test_parent_waits_without_a_slot_and_the_end_of_the_job_wakes_it() -> None:
    double = child_of_tests()

    @job("tests.parent", retry={"max_attempts": 1})
    def parent() -> list[int]:
        first = step.run_job(double.s(4))
        return [first, step.run_job(double.s(first), name="again"), current_job().attempt]

    parent.enqueue()

    assert run() == [
        ("tests.parent", "scheduled", None), ("tests.child", "completed", 8),
        ("tests.parent", "scheduled", None), ("tests.child", "completed", 16),
        ("tests.parent", "completed", [8, 16, 1]),
    ]  # fmt: skip
    assert calls == [4, 8]


@spec("contract 34.2")
def test_coroutines_wait_for_several_jobs_at_once() -> None:
    double = child_of_tests()

    @job("tests.parent")
    async def parent() -> list[int]:
        jobs = [step.arun_job(double.s(n), name=f"n-{n}") for n in (1, 2, 3)]
        return list(await asyncio.gather(*jobs))

    handle = parent.enqueue()
    run()

    assert handle.refresh().result(0) == [2, 4, 6]
    assert sorted(calls) == [1, 2, 3]


@spec("contract 34.2")
def test_failed_job_raises_in_this_and_later_attempts() -> None:
    double = child_of_tests(retry={"max_attempts": 1})
    raised: list[tuple[str, type[Any]]] = []

    @job("tests.parent", retry={"max_attempts": 2, "initial_interval": 3600})
    def parent() -> str:
        try:
            step.run_job(double.s(-1))
        except JobFailed as problem:
            raised.append((problem.type, type(problem.__cause__)))
        if current_job().attempt == 1:
            raise OSError
        return "compensated"

    handle = parent.enqueue()
    run()
    make_due()
    run()

    assert handle.refresh().result(0) == "compensated"
    assert raised == [("ValueError", ValueError)] * 2
    assert calls == [-1]


@spec("contract 34.2")
def test_parent_waits_without_a_slot_and_the_end_of_the_workflow_wakes_it() -> None:
    double = child_of_tests(retry={"max_attempts": 1})

    @job("tests.parent")
    def parent() -> list[Any]:
        found = step.run_job(group(double.s(1), double.s(2)))
        try:
            step.run_job(chain(double.s(-1), double.s(1)))
        except WorkflowFailed as problem:
            return [found, problem.step, problem.job_type]
        return [found]

    handle = parent.enqueue()
    runs = run()

    assert handle.refresh().result(0) == [[2, 4], "step-0", "tests.child"]
    assert calls == [1, 2, -1]
    assert [state for kind, state, _ in runs if kind == "tests.parent"] == [
        "scheduled", "scheduled", "completed",
    ]  # fmt: skip


@spec("contract 34.2")
def test_parent_looks_again_at_a_workflow_of_a_server_that_does_not_show_the_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    double = child_of_tests()
    inner = server()
    for name in ("start_workflow", "read_workflow"):
        monkeypatch.setattr(inner, name, partial(_without_parent, getattr(inner, name)))

    @job("tests.parent")
    def parent() -> list[int]:
        found = step.run_job(group(double.s(1), double.s(2)))
        return [*found, current_job().attempt]

    handle = parent.enqueue()
    run()
    (wait,) = [one for one in enqueued() if one.id == handle.id]
    make_due()
    run()

    assert handle.refresh().result(0) == [2, 4, 1]
    assert wait.state == "scheduled"


def _without_parent(call: Callable[..., WorkflowSnapshot], *args: Any, **options: Any) -> Any:
    return replace(call(*args, **options), parent_job_id=None)


@pytest.mark.parametrize("cancel", ["with_parent", None])
@spec("contract 34.2")
def test_cancel_of_the_parent_cancels_its_workflow_and_what_that_started_if_asked(
    cancel: Any,
) -> None:
    double = child_of_tests(queue="later")

    @job("tests.inner")
    def inner() -> int:
        return step.run_job(double.s(1), cancel="with_parent")

    @job("tests.parent")
    def parent() -> list[int]:
        return step.run_job(group(inner.s(), double.s(2)), cancel=cancel)

    top = parent.enqueue()
    run(queues=["default"])
    started = enqueued()
    top.refresh().cancel()

    assert {one.type: get(one.id).state for one in started} == {
        "tests.parent": "cancelled",
        "tests.inner": "cancelled" if cancel else "scheduled",
        "tests.child": "cancelled" if cancel else "available",
    }


@spec("contract 34.2")
def test_workflow_has_the_tenant_of_its_parent_unless_its_steps_name_one() -> None:
    double = child_of_tests()

    @job("tests.parent")
    def parent(tenant: str | None) -> Any:
        call = double.s(1) if tenant is None else double.s(1).options(meta={"tenant_id": tenant})
        return step.run_job(group(call))

    started = []
    for tenant in (None, "globex"):
        parent.options(meta={"tenant_id": "acme"}).enqueue(tenant)
        run()
    for one in (child for child in enqueued() if child.type == "tests.child"):
        started.append(one.meta.get("tenant_id"))

    assert started == ["acme", "globex"]


@pytest.mark.parametrize("cancel", ["with_parent", None])
@spec("contract 34.2")
def test_cancel_of_the_parent_cancels_what_it_started_if_asked(cancel: Any) -> None:
    double = child_of_tests(queue="later")

    @job("tests.parent")
    def parent() -> int:
        return step.run_job(double.s(1), cancel=cancel)

    @job("tests.grandparent")
    def grandparent() -> int:
        return step.run_job(parent.s(), cancel="with_parent")

    top = grandparent.enqueue()
    run(queues=["default"])
    started = enqueued()
    top.refresh().cancel()

    assert [(one.type, get(one.id).state) for one in started] == [
        ("tests.grandparent", "cancelled"), ("tests.parent", "cancelled"),
        ("tests.child", "cancelled" if cancel else "available"),
    ]  # fmt: skip


@spec("contract 34.2")
def test_attempt_that_ends_after_the_start_finds_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    double = child_of_tests()
    saves: list[str] = []
    save = StepRun.save

    def failing(self: StepRun, about: str) -> None:
        saves.append(about)
        if len(saves) == 2:
            raise OSError("the worker died")
        save(self, about)

    @job("tests.parent", retry={"initial_interval": 3600})
    def parent() -> int:
        return step.run_job(double.s(5))

    monkeypatch.setattr(StepRun, "save", failing)
    handle = parent.enqueue()
    run()
    make_due()
    run()

    assert handle.refresh().result(0) == 10
    assert calls == [5]


@spec("contract 34.2")
def test_job_that_runs_at_its_enqueue_ends_within_the_step() -> None:
    double = child_of_tests()

    @job("tests.parent")
    def parent() -> int:
        return step.run_job(double.s(3)) + 1

    with run_now():
        handle = parent.enqueue()

    assert (handle.state, handle.result(0)) == ("completed", 7)


def test_other_calls_and_options_are_refused() -> None:
    double = child_of_tests()
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (double, {}), (double.s(1), {"cancel": "never"}),
    ]  # fmt: skip

    @job("tests.parent", retry={"max_attempts": 1})
    def parent(number: int) -> int:
        call, options = wrong[number]
        found: int = step.run_job(call, **options)
        return found

    for number in range(len(wrong)):
        parent.enqueue(number)

    errors = [one.error["type"] for one in run_available(raises=False) if one.error]
    assert errors == ["StepError"] * 2
