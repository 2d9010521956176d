"""`run_now`: jobs run at their enqueue."""

import asyncio

import pytest

from ojs_tasks import Discard, Retry, UncommittedJob, current_job, get, job
from ojs_tasks.testing import TooManyJobs, enqueued, in_memory, make_due, run_available, run_now

pytestmark = pytest.mark.usefixtures("place")


def test_an_enqueue_returns_a_job_that_has_run() -> None:
    @job("a.add")
    def add(left: int, right: int) -> int:
        return left + right

    with run_now():
        handle = add.enqueue(1, right=2)

    assert (handle.state, handle.attempt, handle.result(timeout=0)) == ("completed", 1, 3)
    assert add.enqueue(1, right=2).state == "available"


def test_it_decorates_functions() -> None:
    @job("a.one")
    def one() -> int:
        return 1

    @run_now()
    def call() -> int:
        found: int = one.enqueue().result()
        return found

    assert call() == 1


def test_jobs_of_handlers_run_inside_them() -> None:
    @job("a.child")
    def child(number: int) -> int:
        return number + 1

    @job("a.parent")
    def parent(number: int) -> int:
        found: int = child.enqueue(number).result(timeout=0)
        return found * 10

    with run_now():
        assert parent.enqueue(1).result() == 20


def test_a_failure_is_raised_by_the_enqueue_and_recorded() -> None:
    @job("a.fail", retry={"max_attempts": 2, "initial_interval": 3600})
    def fail() -> None:
        raise ValueError("broken")

    with run_now(), pytest.raises(ValueError, match="broken"):
        fail.enqueue()

    (failed,) = enqueued(fail)
    assert failed.state == "retryable"


@pytest.mark.parametrize(
    ("problem", "state"),
    [
        (ValueError("broken"), "retryable"),
        (Retry("later"), "retryable"),
        (Discard(""), "discarded"),
    ],
)
def test_failures_are_states_if_nothing_is_to_be_raised(problem: Exception, state: str) -> None:
    @job("a.fail", retry={"max_attempts": 2, "initial_interval": 3600})
    def fail() -> str:
        if current_job().attempt == 1:
            raise problem
        return "mended"

    with run_now(raises=False):
        handle = fail.enqueue()

    assert (handle.state, handle.errors[0]["type"]) == (state, type(problem).__name__)
    assert make_due() == (state == "retryable")
    assert [run.result for run in run_available()] == ["mended"] * (state == "retryable")


def test_scheduled_jobs_wait() -> None:
    @job("a.later")
    def later() -> None: ...

    with run_now():
        assert later.options(delay=60).enqueue().state == "scheduled"

    assert (make_due(), len(run_available())) == (1, 1)


def test_another_queue_of_a_call_is_run_too() -> None:
    @job("a.one", queue="one")
    def one() -> None: ...

    with run_now():
        assert one.options(queue="urgent").enqueue().state == "completed"


def test_endless_nesting_is_noticed() -> None:
    @job("a.loop")
    def loop() -> None:
        loop.enqueue()

    with run_now(), pytest.raises(TooManyJobs, match=r"50 jobs enqueue one another: a\.loop"):
        loop.enqueue()


def test_async_handlers_run_in_memory() -> None:
    @job("a.sleep")
    async def sleep() -> str:
        await asyncio.sleep(0)
        return current_job().type

    with in_memory(), run_now():
        assert sleep.enqueue().result() == "a.sleep"


def test_a_wait_for_a_job_that_did_not_run_names_the_cure() -> None:
    @job("a.one")
    def one() -> None: ...

    handle = one.enqueue()

    with pytest.raises(UncommittedJob, match="run_available"):
        handle.result(timeout=5)


def test_progress_and_checkpoints_reach_the_job_and_its_next_attempt() -> None:
    @job("a.long", retry={"max_attempts": 2})
    def long() -> object:
        current = current_job()
        if current.attempt == 1:
            current.progress(0.5, "half", {"rows": 10}, checkpoint={"row": 10})
            raise Retry
        assert handle_progress(current.id) is None
        current.progress(0.75)
        current.progress(0.25, "last")
        assert handle_progress(current.id) == 0.75
        return current.last_checkpoint

    def handle_progress(job_id: str) -> float | None:
        return get(job_id).progress

    with run_now():
        handle = long.enqueue()
    shown = handle.snapshot
    assert (shown.progress, shown.progress_message) == (0.5, "half")
    assert shown.progress_data == {"rows": 10}

    make_due()
    run_available()

    assert handle.refresh().result() == {"row": 10}
    assert (handle.progress, handle.snapshot.progress_message) == (1.0, "last")


def test_an_inner_run_now_decides_about_its_exceptions() -> None:
    @job("a.fail", retry={"max_attempts": 1})
    def fail() -> None:
        raise ValueError("broken")

    with run_now():
        with run_now(raises=False):
            assert fail.enqueue().state == "discarded"
        with pytest.raises(ValueError, match="broken"):
            fail.enqueue()
    assert fail.enqueue().state == "available"
