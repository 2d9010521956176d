"""Steps of handlers, with jobs in memory and in the database. Spec: contract 34.2."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from ojs_tasks import SignalTimeout, StepError, current_job, job, step
from ojs_tasks.handlers import Handler
from ojs_tasks.testing import make_due, run_available
from tests.ojs_tasks.testing.conftest import place
from tests.spec import spec

__all__ = ["place"]

calls: list[str] = []


@pytest.fixture(autouse=True)
def recorded(place: str) -> None:
    """Run each test in both places, and record the calls of steps."""
    calls.clear()


def note(name: str, result: Any = None) -> Any:
    """Be a step: record the call."""
    calls.append(name)
    return result


async def anote(name: str, result: Any = None) -> Any:
    """Be a step of a coroutine."""
    await asyncio.sleep(0)
    return note(name, result)


def handler(function: Any, **terms: Any) -> Handler[..., Any]:
    """Make the only handler of these tests."""
    retry: Any = {
        "initial_interval": 3600,
        **terms.pop("retry", {}),
    }  # only `make_due` makes it due
    made: Handler[..., Any] = job("tests.steps", retry=retry, **terms)(function)
    return made


def run(**options: Any) -> list[Any]:
    """Run the jobs that are available; return their states and results."""
    return [(one.state, one.result) for one in run_available(raises=False, **options)]


@spec("contract 34.2")
def test_results_are_kept_across_attempts_and_each_step_runs_once() -> None:
    def fulfil() -> list[Any]:
        first = step("first", note, "first", (1, 2))
        second = step("second", note, "second", {"a": current_job().attempt})
        if current_job().attempt == 1:
            raise OSError("the worker's network is gone")
        return [first, second]

    handler(fulfil).enqueue()

    assert run() == [("retryable", None)]
    make_due()
    assert run() == [("completed", [[1, 2], {"a": 1}])]
    assert calls == ["first", "second"]


@spec("contract 34.2")
def test_sleep_gives_the_slot_back_and_counts_no_attempt() -> None:
    def nap() -> int:
        step("before", note, "before")
        step.sleep("nap", timedelta(hours=2))
        step("after", note, "after")
        return current_job().attempt

    handler(nap, retry={"max_attempts": 1}).enqueue()

    assert run() == [("scheduled", None)]
    assert run() == []
    make_due()
    assert run() == [("completed", 1)]
    assert calls == ["before", "after"]


@spec("contract 34.2")
def test_wait_returns_the_payload_of_a_signal_before_or_after_it() -> None:
    def wait() -> list[Any]:
        return [step.wait_for("early"), step.wait_for("late", signal="go")]

    handle = handler(wait).enqueue()
    assert handle is not None
    handle.signal("early", {"n": 1})

    assert run() == [("available", None), ("scheduled", None)]
    handle.signal("other")
    assert run() == []
    handle.signal("go", [2])
    assert run() == [("completed", [{"n": 1}, [2]])]


@spec("contract 34.2")
def test_wait_that_is_over_raises_in_this_and_later_attempts() -> None:
    def wait() -> str:
        try:
            step.wait_for("approved", timeout=timedelta(days=3))
        except SignalTimeout:
            if current_job().attempt == 1:
                raise OSError from None
            return "timed out"
        return "approved"

    handle = handler(wait).enqueue()
    run()
    make_due()
    assert run() == [("retryable", None)]
    assert handle is not None
    handle.signal("approved")  # too late: the outcome is stored
    make_due()

    assert run() == [("completed", "timed out")]


@spec("contract 34.2")
def test_wait_that_is_over_fails_a_handler_without_a_rule_for_good() -> None:
    handler(lambda: step.wait_for("approved", timeout=1)).enqueue()
    run()
    make_due()

    assert run() == [("discarded", None)]


@spec("contract 34.2")
def test_failing_step_is_retried_by_its_policy_and_then_fails_the_attempt() -> None:
    def fail() -> None:
        note("fail")
        raise OSError("no route")

    def work() -> None:
        step("fail", fail, retry={"max_attempts": 2, "initial_interval": 60})

    handler(work, retry={"max_attempts": 2}).enqueue()

    states = []
    for _ in range(5):
        states += [state for state, _ in run()]
        make_due()

    assert states == ["scheduled", "retryable", "scheduled", "discarded"]
    assert calls == ["fail"] * 4


@spec("contract 34.2")
def test_step_that_refuses_a_retry_fails_at_once() -> None:
    def work() -> None:
        def fail() -> None:
            note("fail")
            raise KeyError("a")

        step.options(max_attempts=9, non_retryable_errors=["KeyError"])("fail", fail)

    handler(work).enqueue()

    assert run() == [("retryable", None)]
    assert calls == ["fail"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (lambda: [step("a", note, "a"), step("a", note, "b")], "two steps of this run"),
        (lambda: step("", note, "a"), "needs a name"),
        (lambda: step("a", object), "step 'a' has a result that is no JSON"),
        (lambda: step("a", anote, "a"), "coroutine function"),
        (lambda: step("a", lambda: step("b", note, "b")), "inside of another step"),
    ],
)  # fmt: skip
@spec("contract 34.2")
def test_wrong_steps_are_refused_naming_the_step(body: Any, problem: str) -> None:
    handler(body).enqueue()

    (found,) = run_available(raises=False)

    assert found.error is not None
    assert found.error["type"] == StepError.__name__
    assert problem in found.error["message"]


@spec("contract 34.2")
def test_version_is_the_latest_for_new_runs_and_the_first_for_runs_that_were_past_it() -> None:
    versions = [(1, 1), (1, 2)]

    def work() -> list[int]:
        found = []
        if current_job().attempt == 2:
            found.append(step.version("branch", *versions[1]))
        step("a", note, "a")
        found.append(step.version("new", 1, 2))
        if current_job().attempt == 1:
            raise OSError
        return found

    handler(work).enqueue()
    run()
    make_due()

    assert run() == [("completed", [1, 2])]


@spec("contract 34.2")
def test_run_of_a_version_that_the_code_has_dropped_fails() -> None:
    def work() -> int:
        attempt = current_job().attempt
        found: int = step.version("branch", attempt, attempt)
        if attempt == 1:
            raise OSError
        return found

    handler(work).enqueue()
    run()
    make_due()
    (found,) = run_available(raises=False)

    assert found.error is not None
    assert "follows version 1 of 'branch', the code has 2 to 2" in found.error["message"]


@spec("contract 34.2")
def test_checkpoint_of_a_progress_report_keeps_the_steps() -> None:
    def work() -> list[Any]:
        if current_job().attempt == 2:
            last = current_job().last_checkpoint
            return [step("a", note, "a"), last["rows"], "__steps" in last]
        step("a", note, "a", 1)
        current_job().progress(checkpoint={"rows": 7})
        step("b", note, "b")
        raise OSError

    handler(work).enqueue()
    run()
    make_due()

    assert run() == [("completed", [1, 7, True])]


@spec("contract 34.2")
def test_coroutines_have_the_same_steps_and_may_gather_them() -> None:
    note_page = job("tests.page")(anote)  # a handler runs as a step, too

    async def work() -> list[Any]:
        pages = await asyncio.gather(
            *(step(f"page-{n}", note_page, f"page-{n}", n) for n in range(3))
        )
        plain = await step("plain", note, "plain", "p")  # it runs in a thread
        await step.sleep("nap", 60)
        payload = await step.wait_for("go")
        return [*pages, plain, payload, await step.version("v", 1, 3)]

    handle = handler(work).enqueue()

    assert run() == [("scheduled", None)]
    make_due()
    assert run() == [("scheduled", None)]
    assert handle is not None
    handle.signal("go", "now")
    assert run() == [("completed", [0, 1, 2, "p", "now", 3])]
    assert sorted(calls) == ["page-0", "page-1", "page-2", "plain"]


@spec("contract 34.2")
def test_gathered_steps_end_before_a_wait_among_them_ends_the_attempt() -> None:
    async def slow() -> int:
        for _ in range(20):
            await asyncio.sleep(0)
        return len([await anote("slow")])

    async def work() -> list[Any]:
        found: list[Any] = await asyncio.gather(
            step.wait_for("go"), step("slow", slow), step.sleep("nap", 60), step("b", anote, "b", 2)
        )
        return found

    handle = handler(work).enqueue()

    assert run() == [("scheduled", None)]
    assert sorted(calls) == ["b", "slow"]
    assert handle is not None
    handle.signal("go", 1)
    assert run() == [("scheduled", None)]  # the sleep goes on
    make_due()
    assert run() == [("completed", [1, 1, None, 2])]
    assert sorted(calls) == ["b", "slow"]
