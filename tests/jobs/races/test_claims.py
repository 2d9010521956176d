"""FETCH racing FETCH, pause and cancel. Spec: contract 2.6, 10.1, 10.2; fair scheduling 9.3."""

from collections import Counter
from dataclasses import replace
from itertools import count
from threading import Event

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Lane, Lease, Ready
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import lanes
from jobs.services.operate.queues import pause, resume
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.asserts import assert_state, assert_store_is_sound
from tests.concurrency import at_once, threads
from tests.factories import DraftFactory, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

FETCHERS, TENANTS = 16, 20


def put_into_many_lanes(number: int, priority: int) -> None:
    """Store jobs of many tenants."""
    drafts = [DraftFactory.create(priority=priority) for _ in range(number)]
    enqueue([replace(draft, tenant=f"t{n % TENANTS}") for n, draft in enumerate(drafts)])


@pytest.mark.parametrize("cap", [None, 1000], ids=["uncapped", "capped"])
@spec("FS-9.3")
def test_no_low_job_is_claimed_while_a_higher_one_waits(cap: int | None) -> None:
    """Check that no claim of a higher job begins after a claim of a lower job returned."""
    put_into_many_lanes(400, 9)
    put_into_many_lanes(400, 0)
    for n in range(TENANTS):
        lanes.set_weight_and_cap(f"t{n}", weight=1, cap=cap)
    clock = count()

    def work() -> list[tuple[int, int, int]]:
        seen = []
        while Ready.objects.exists():
            began = next(clock)
            jobs = fetch(FetchRequest(("default",), count=3)).jobs
            seen += [(job.priority, began, next(clock)) for job in jobs]
        return seen

    seen = [claim for claims in at_once([work] * FETCHERS) for claim in claims]

    assert Counter(priority for priority, _, _ in seen) == {9: 400, 0: 400}
    last_high_began = max(began for priority, began, _ in seen if priority == 9)
    first_low_returned = min(returned for priority, _, returned in seen if priority == 0)
    assert last_high_began < first_low_returned
    assert_store_is_sound()


@spec("contract 10.2")
def test_no_fetch_that_begins_after_a_pause_gets_a_job() -> None:
    ids = stored_ids(2000)
    clock = count()
    under_way, over = Event(), Event()

    def work() -> list[tuple[int, int, int]]:
        seen = []
        while not over.is_set():
            began = next(clock)
            jobs = fetch(FetchRequest(("default",), count=2)).jobs
            seen.append((began, next(clock), len(jobs)))
            if began > 50:
                under_way.set()
        return seen

    with threads(8) as start:
        fetchers = [start(work) for _ in range(8)]
        under_way.wait()
        pause("default")
        paused = next(clock)
        while next(clock) < paused + 200:  # the other threads advance the clock
            fetch(FetchRequest(("other",)))
        resumed = next(clock)
        resume("default")
        over.set()
        seen = [claim for fetcher in fetchers for claim in fetcher.result()]

    between = [got for began, returned, got in seen if paused < began and returned < resumed]
    assert any(got for began, _, got in seen if began < paused)
    assert between
    assert not any(between)
    rest = len(fetch(FetchRequest(("default",), count=2000)).jobs)
    assert sum(got for _, _, got in seen) + rest == len(ids)


def test_d12_a_cancel_ends_each_job_however_far_its_claim_has_come() -> None:
    ids = stored_ids(300)

    def work() -> list[str]:
        claimed: list[str] = []
        while jobs := fetch(FetchRequest(("default",), count=3, worker_id="w1")).jobs:
            claimed += [job.id for job in jobs]
        return claimed

    def stop(mine: list[str]) -> list[State]:
        return [cancel(job_id)[1] for job_id in mine]

    with threads(8) as start:
        fetchers = [start(work) for _ in range(4)]
        stoppers = [start(lambda n=n: stop(ids[n::4])) for n in range(4)]  # type: ignore[misc]
        claimed = [job_id for fetcher in fetchers for job_id in fetcher.result()]
        left = Counter(state for stopper in stoppers for state in stopper.result())

    assert_state(State.CANCELLED, *ids)
    assert left.keys() <= {State.AVAILABLE, State.ACTIVE}
    assert left[State.ACTIVE] == len(claimed) == len(set(claimed))
    told = heartbeat(Report("w1", active_ids=tuple(claimed)))
    assert (set(told.cancelled), told.extended) == (set(claimed), [])
    assert_store_is_sound()


@pytest.mark.parametrize("cap", [3, 1000], ids=["reached", "never reached"])
@spec("fair-scheduling 3")
def test_every_job_of_a_locked_lane_moves_its_virtual_time(cap: int) -> None:
    """Check that a claim that waited for the lane's row reads the row's newest version."""
    stored = enqueue([replace(DraftFactory.create(), tenant="paid") for _ in range(300)])
    lanes.set_weight_and_cap("paid", weight=1, cap=cap)
    before = Lane.objects.get(tenant="paid").vt

    def work() -> int:
        done = 0
        while Ready.objects.exists():
            jobs = fetch(FetchRequest(("default",))).jobs
            ack([Ack(job.id) for job in jobs])
            done += len(jobs)
        return done

    assert sum(at_once([work] * 8)) == len(stored)
    assert Lane.objects.get(tenant="paid").vt == before + len(stored)


@pytest.mark.parametrize("queues", [("a",), ("a", "b")])
@spec("fair-scheduling 5.5")
def test_one_worker_in_16_threads_never_holds_more_than_it_runs(
    queues: tuple[str, ...],
) -> None:
    runs, number = 5, 160
    for queue in queues:
        stored_ids(number // len(queues), queue=queue)
    heartbeat(Report("w1", concurrency=runs))
    first = fetch(FetchRequest(queues, number, worker_id="w1")).jobs

    def work(size: int) -> int:
        done = 0
        while Ready.objects.exists():
            found = fetch(FetchRequest(queues, size, worker_id="w1")).jobs
            assert Lease.objects.filter(worker_id="w1").count() <= runs
            ack([Ack(job.id) for job in found])
            done += len(found)
        return done

    assert len(first) == runs
    ack([Ack(job.id) for job in first])
    assert sum(at_once([lambda n=n: work(1 + n % 4) for n in range(FETCHERS)])) == number - runs  # type: ignore[misc]  # binds
    assert_store_is_sound()
