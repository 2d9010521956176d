"""Virtual time, on a store of plain lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from jobs.domain.dispatch.claim import LaneKey
from scheduling.domain.outcome import outcome
from scheduling.domain.simulation import TooLong, simulate, step_of
from scheduling.domain.workload import Arrival, Workers, Workload

LANE = LaneKey("a", 0, "t")


@dataclass
class Fifo:
    """Hands out jobs in the order of arrival, at most `most` active, none before `opens_at`."""

    most: int = 10**6
    opens_at: int = 0
    waiting: list[int] = field(default_factory=list)
    active: set[int] = field(default_factory=set)
    now: int = 0
    calls: int = 0

    def set_time(self, ms: int) -> None:
        assert ms >= self.now or self.now <= 0
        self.now = ms

    def enqueue(self, numbers: Sequence[int]) -> None:
        self.waiting.extend(numbers)

    def claim(self, workers: Workers, count: int) -> tuple[list[int], int | None]:
        self.calls += 1
        if self.now < self.opens_at:
            return [], self.opens_at - self.now
        count = min(count, self.most - len(self.active))
        given, self.waiting = self.waiting[:count], self.waiting[count:]
        self.active.update(given)
        return given, None

    def complete(self, numbers: Sequence[int]) -> None:
        assert self.active.issuperset(numbers)
        self.active.difference_update(numbers)

    def waits(self, jobs: Mapping[str, int]) -> None:
        assert min(jobs.values(), default=0) >= 0


def load(*arrivals: tuple[int, int], slots: int = 1, until_ms: int = 10_000) -> Workload:
    """Return a workload of (arrival, length) and equal workers."""
    return Workload(
        [Arrival(at, LANE, run) for at, run in arrivals], (Workers("w", slots, ("a",)),), until_ms
    )


def test_jobs_follow_one_another_without_gaps_whatever_the_step() -> None:
    work = load((0, 30), (0, 30), (0, 30))

    for step_ms in (1, 10, 100, 1000):
        assert simulate(work, Fifo(), step_ms=step_ms) == [0, 30, 60]


def test_a_job_that_comes_within_a_step_starts_when_it_comes() -> None:
    assert simulate(load((0, 5), (33, 5), slots=2), Fifo(), step_ms=100) == [0, 33]


def test_no_job_starts_in_a_step_that_did_not_give_it() -> None:
    starts = simulate(load((0, 950), (10, 5), slots=2), Fifo(most=1), step_ms=100)

    assert starts[0] == 0
    assert starts[1] is not None
    assert 900 <= starts[1] <= 1000


def test_what_had_waited_before_the_beginning_starts_at_it() -> None:
    work = load((-5500, 10), (-20, 10), slots=2)

    assert simulate(work, Fifo()) == [0, 0]
    assert outcome(work, [0, 0]).total.max_ms == 5500


def test_a_limit_that_opens_by_itself_is_asked_again_then() -> None:
    starts = simulate(load((0, 10)), Fifo(opens_at=3000), step_ms=10)

    assert starts[0] is not None
    assert 2990 <= starts[0] <= 3010


def test_what_does_not_start_in_time_has_waited_until_the_end() -> None:
    work = load((0, 8000), (0, 8000), (1000, 1), until_ms=5000)
    starts = simulate(work, Fifo())

    assert starts == [0, None, None]
    found = outcome(work, starts).total
    assert (found.jobs, found.started, found.max_ms, found.p50_ms) == (3, 1, 5000, 4000)


def test_nobody_is_asked_while_nothing_waits() -> None:
    store = Fifo()
    simulate(load((0, 10), (9000, 10)), store)

    assert store.calls <= 4


def test_progress_may_end_it() -> None:
    def enough(part: float) -> None:
        if part >= 0.5:
            raise TooLong

    with pytest.raises(TooLong):
        simulate(load((0, 1), (9000, 1)), Fifo(), progress=enough)


def test_steps_are_neither_too_short_nor_too_long() -> None:
    assert (step_of(1), step_of(600_000), step_of(10**9)) == (10, 120, 1000)


def test_outcome_is_by_queue_and_tenant() -> None:
    jobs = [Arrival(0, LaneKey(q, 0, t), 1) for q, t in (("a", "x"), ("a", "y"), ("b", "x"))]
    found = outcome(Workload(jobs, (), 100), [0, 10, None])

    assert found.queues["a"].share == 1
    assert found.queues["b"].started == 0
    assert found.tenants["x"].share == 0.5
    assert (found.tenants["y"].p95_ms, found.tenants["x"].p95_ms) == (10, 100)
    assert found.to_json()["total"]["jobs"] == 3


def test_an_empty_workload_has_an_outcome() -> None:
    assert outcome(Workload([], (), 1), []).total.share == 0
