"""Attempts that exceed their execution time."""

import threading
from collections.abc import Iterator

import pytest

from jobs.domain.job import Job
from jobs.handlers import Context, JobTimeout
from jobs.services.outcome.nack import Nack
from jobs.worker.directives import Directives
from jobs.worker.event_loop import EventLoop
from jobs.worker.in_flight import InFlight, Running
from jobs.worker.timeouts import STUCK_S, Timeouts
from jobs.worker.waits import Waits
from tests.jobs.worker.conftest import Answers
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
    return Timeouts(in_flight, answers, directives, EventLoop(in_flight))


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
