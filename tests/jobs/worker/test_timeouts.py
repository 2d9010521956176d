"""Attempts that exceed their execution time."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from math import inf

import pytest

from jobs.domain.job import Job
from jobs.services.outcome.nack import Nack
from jobs.worker.execution import EXECUTION
from ojs_tasks import Context, JobTimeout
from ojs_tasks.worker.directives import Directives
from ojs_tasks.worker.event_loop import EventLoop
from ojs_tasks.worker.in_flight import InFlight, Running
from ojs_tasks.worker.timeouts import BLOCKED_S, CLEAN_UP_S, STUCK_S, Timeouts
from ojs_tasks.worker.waits import Waits
from tests.jobs.worker.conftest import Answers
from tests.jobs.worker.loops import Attempts
from tests.processes import DEADLINE_S


class Slot:
    """A thread with one running attempt, which ends with JobTimeout or by the test."""

    def __init__(self, in_flight: InFlight) -> None:
        """Prepare; `begin` starts the attempt."""
        self._in_flight = in_flight
        self._begun, self.let_go = threading.Event(), threading.Event()
        self.entry: Running | None = None
        self.was_stopped = False
        self.thread = threading.Thread(target=self._run)

    def begin(self, context: Context) -> Running:
        """Begin an attempt in the thread."""
        self._in_flight.add([context])
        self.thread.start()
        assert self._begun.wait(DEADLINE_S)
        assert self.entry is not None
        return self.entry

    def _run(self) -> None:
        self.entry = self._in_flight.begin()
        try:
            self._begun.set()
            while not self.let_go.wait(0.01):
                pass
        except JobTimeout:
            self.was_stopped = True


@pytest.fixture
def in_flight() -> InFlight:
    """Return the jobs in flight of a process with one slot."""
    return InFlight(1, lambda: None)


@pytest.fixture
def directives() -> Directives:
    """Return the directives of a process without other threads."""
    return Directives(Waits())


@pytest.fixture
def timeouts(in_flight: InFlight, answers: Answers, directives: Directives) -> Timeouts:
    """Return timeouts without a thread: the test checks."""
    return Timeouts(in_flight, answers, directives, EventLoop(in_flight, EXECUTION))


@pytest.fixture
def slot(in_flight: InFlight) -> Iterator[Slot]:
    """Return a thread for an attempt, and end it."""
    made = Slot(in_flight)
    yield made
    made.let_go.set()
    made.thread.join(DEADLINE_S)


def test_a_late_handler_gets_job_timeout(
    timeouts: Timeouts, slot: Slot, answers: Answers, job: Job
) -> None:
    entry = slot.begin(Context(job, "w1"))

    timeouts.check(entry.until - 1)
    assert slot.thread.is_alive()
    timeouts.check(entry.until)
    slot.thread.join(DEADLINE_S)

    assert slot.was_stopped
    assert answers.sent == []


def test_a_stuck_handler_is_answered_and_its_process_replaced(
    timeouts: Timeouts, slot: Slot, directives: Directives, answers: Answers, job: Job
) -> None:
    entry = slot.begin(Context(job, "w1"))
    timeouts.check(entry.until)
    assert not directives.must_leave

    timeouts.check(entry.until + STUCK_S)
    timeouts.check(entry.until + STUCK_S)

    ((outcome, wait),) = answers.sent
    assert isinstance(outcome, Nack)
    assert (outcome.job_id, outcome.attempt, wait) == (job.id, 1, False)
    assert directives.must_leave


def test_the_thread_ends_when_it_is_stopped(timeouts: Timeouts) -> None:
    others = set(threading.enumerate())
    timeouts.start()
    (thread,) = set(threading.enumerate()) - others

    timeouts.stop()

    thread.join(DEADLINE_S)
    assert not thread.is_alive()


def test_a_late_coroutine_is_cancelled(attempts: Attempts) -> None:
    """`except Exception` does not catch it."""
    begun = threading.Event()
    seen: list[BaseException] = []

    async def handler() -> None:
        begun.set()
        with suppress(Exception):
            try:
                await asyncio.Event().wait()
            except BaseException as problem:
                seen.append(problem)
                raise

    attempt = attempts.start(handler)
    assert begun.wait(DEADLINE_S)
    attempts.expire(attempt)

    assert attempt.error()["code"] == "timeout"
    assert [type(problem) for problem in seen] == [asyncio.CancelledError]
    assert not attempts.directives.must_leave


def test_a_coroutine_that_goes_on_after_its_end_is_stuck(
    attempts: Attempts, answers: Answers
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    async def handler() -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        goes_on.set()
        await asyncio.Event().wait()

    attempt = attempts.start(handler)
    assert begun.wait(DEADLINE_S)
    attempts.expire(attempt)
    assert goes_on.wait(DEADLINE_S)

    attempts.expire(attempt, CLEAN_UP_S - 0.1)
    assert answers.sent == []
    attempts.expire(attempt, CLEAN_UP_S)

    assert len(answers.sent) == 1
    assert attempts.directives.must_leave


def test_the_time_of_a_coroutine_begins_on_the_loop(attempts: Attempts) -> None:
    let_go = threading.Event()

    async def block() -> None:
        assert let_go.wait(DEADLINE_S)

    async def handler() -> None: ...

    blocker, attempt = attempts.start(block), attempts.start(handler)
    try:
        assert attempt.entry.until == inf
    finally:
        let_go.set()

    blocker.outcome()
    attempt.outcome()
    assert attempt.entry.until < inf


@pytest.mark.parametrize("is_inner", [False, True], ids=["the handler", "a task of the handler"])
def test_a_coroutine_that_blocks_the_loop_ends_with_the_first_that_is_late(
    attempts: Attempts, answers: Answers, caplog: pytest.LogCaptureFixture, *, is_inner: bool
) -> None:
    begun, blocking, let_go = threading.Event(), threading.Event(), threading.Event()

    async def handler() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def block() -> None:
        blocking.set()
        assert let_go.wait(DEADLINE_S)

    async def group() -> None:
        await asyncio.gather(block())

    waiting = attempts.start(handler, timeout_ms=1000)
    assert begun.wait(DEADLINE_S)
    attempts.start(group if is_inner else block, timeout_ms=3_600_000)
    try:
        assert blocking.wait(DEADLINE_S)
        for after_s in (-2 * BLOCKED_S, 0.0, STUCK_S):
            attempts.expire(waiting, after_s)
    finally:
        let_go.set()

    messages = [(outcome.error or {})["message"] for outcome, _ in nacks(answers)]
    assert messages[0] == "the job ran longer than 1000 ms"
    assert "blocked the event loop for 3000 ms" in messages[1]
    assert attempts.directives.must_leave
    (blocked,) = [record for record in caplog.records if record.message == "event_loop.blocked"]
    assert (blocked.job_type, blocked.line[-7:]) == ("a.n1", "in wait")  # type: ignore[attr-defined]


def nacks(answers: Answers) -> list[tuple[Nack, bool]]:
    """Return the failures."""
    return [(outcome, wait) for outcome, wait in answers.sent if isinstance(outcome, Nack)]
