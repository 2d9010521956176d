"""Jobs and workflows as steps, with jobs in memory and in the database. Spec: contract 34.2."""

import asyncio
from typing import Any

import pytest

from ojs_tasks import JobFailed, WorkflowFailed, chain, current_job, get, group, job, step
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


def child_of_tests(**terms: Any) -> Any:
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
def test_workflow_is_a_step_that_looks_again() -> None:
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
    for _ in range(3):
        run()
        make_due()

    assert handle.refresh().result(0) == [[2, 4], "step-0", "tests.child"]
    assert calls == [1, 2, -1]


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
        (group(double.s(1)), {"cancel": "with_parent"}),
    ]  # fmt: skip

    @job("tests.parent", retry={"max_attempts": 1})
    def parent(number: int) -> int:
        call, options = wrong[number]
        found: int = step.run_job(call, **options)
        return found

    for number in range(len(wrong)):
        parent.enqueue(number)

    errors = [one.error["type"] for one in run_available(raises=False) if one.error]
    assert errors == ["StepError"] * 3
