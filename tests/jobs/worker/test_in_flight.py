"""The jobs that a worker process has claimed and not yet answered."""

from dataclasses import replace
from time import monotonic

import pytest

from jobs.domain.job import Job
from ojs_tasks import Context
from ojs_tasks.worker.in_flight import MOST_CLAIMED, InFlight, Running


class Window(InFlight):
    """Jobs in flight that count how often a claim became due."""

    def __init__(self, concurrency: int) -> None:
        """Begin with no job."""
        self.claims_due = 0
        super().__init__(concurrency, self._count)

    def _count(self) -> None:
        self.claims_due += 1


def contexts(job: Job, number: int) -> list[Context]:
    """Return attempts of different jobs."""
    return [Context(replace(job, id=str(n)), "w1") for n in range(number)]


def begun(window: InFlight, context: Context) -> Running:
    """Hold a job and begin its attempt in this thread."""
    window.add([context])
    entry = window.begin()
    assert entry is not None
    return entry


def test_two_jobs_per_slot_are_held(job: Job) -> None:
    window = Window(concurrency=5)
    assert window.free() == 10

    window.add(contexts(job, 5))
    assert window.free() == 5
    window.add([Context(replace(job, id="more"), "w1")])

    assert window.free() == 0
    assert window.count() == 6


def test_the_claim_is_due_when_half_of_a_grown_window_is_free(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that `free` and `forget` agree on the rule, for a window that the pace has grown."""
    window = Window(concurrency=10)
    monkeypatch.setattr(window._pace, "per", lambda _seconds, _ended: 100)
    held = contexts(job, 52)
    window.add(held)

    assert window.free() == 0
    window.forget(held[0])
    assert window.claims_due == 0
    window.forget(held[1])

    assert window.claims_due == 1
    assert window.free() == 50


def test_jobs_behind_threads_that_end_no_job_are_taken_out_down_to_two_per_slot(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Window(concurrency=2)
    pace = [100]
    monkeypatch.setattr(window._pace, "per", lambda _seconds, _ended: pace[0])
    window.free()
    held = contexts(job, 10)
    begun(window, held[0])
    window.add(held[1:])
    assert window.surplus() == []

    pace[0] = 0
    window.free()
    taken = window.surplus()
    window.drop(taken)

    assert taken == [context.job for context in held[4:]]
    assert window.ids() == tuple(context.job.id for context in held[:4])
    assert window.surplus() == []
    entry = window.begin()
    assert entry is not None
    assert entry.context is held[1]


def test_no_job_is_taken_out_while_threads_end_jobs(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Window(concurrency=2)
    monkeypatch.setattr(window._pace, "per", lambda _seconds, _ended: 1)
    window.free()
    window.add(contexts(job, 10))

    assert window.surplus() == []


def test_one_claim_takes_a_bounded_number_of_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(concurrency=10)
    monkeypatch.setattr(window._pace, "per", lambda _seconds, _ended: 10_000)

    assert window.free() == MOST_CLAIMED


def test_the_end_of_an_old_attempt_keeps_the_new_one(job: Job) -> None:
    window = Window(concurrency=1)
    old, new = Context(job, "w1"), Context(replace(job, attempt=2), "w1")
    window.add([old])
    window.add([new])

    window.forget(old)

    assert window.find(job.id) is new
    assert window.attempts() == {(job.id, 2)}


def test_only_the_new_attempt_begins(job: Job) -> None:
    window = Window(concurrency=1)
    window.add([Context(job, "w1")])
    new = Context(replace(job, attempt=2), "w1")

    entry = begun(window, new)

    assert entry.context is new


def test_a_job_that_was_given_back_does_not_begin(job: Job) -> None:
    window = Window(concurrency=1)
    window.add([Context(job, "w1")])
    window.drop([job])
    window.end_threads()

    assert window.begin() is None
    assert window.ids() == ()


def test_jobs_that_have_not_started_are_taken_out(job: Job) -> None:
    window = Window(concurrency=1)
    first, second = contexts(job, 2)
    begun(window, first)
    window.add([second])

    assert window.unstarted() == [second.job]
    assert window.unstarted() == []


def test_a_late_attempt_is_warned_once_and_then_answered_once(job: Job) -> None:
    window = Window(concurrency=1)
    entry = begun(window, Context(job, "w1"))
    warned: list[Running] = []
    assert window.late(entry.until - 1) == []
    assert window.late(entry.until) == [entry]

    steps = [
        window.expire(entry, entry.until + after, 1.0, warned.append)
        for after in (0.0, 0.5, 1.0, 1.5)
    ]

    assert steps == [False, False, True, False]
    assert warned == [entry]
    assert window.finish(entry)


def test_an_attempt_that_ended_is_not_stopped(job: Job) -> None:
    window = Window(concurrency=1)
    entry = begun(window, Context(job, "w1"))
    warned: list[Running] = []
    assert not window.finish(entry)

    assert not window.expire(entry, monotonic() + 3600, 1.0, warned.append)
    assert warned == []


def test_abandoned_attempts_are_returned_once(job: Job) -> None:
    window = Window(concurrency=1)
    entry = begun(window, Context(job, "w1"))

    assert window.abandon() == [job]
    assert window.abandon() == []
    assert window.finish(entry)
