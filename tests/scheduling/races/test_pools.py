"""Pools under many fetchers at once: caps, shares and isolation are exact. Spec: FS 4.1, 5, 6."""

from collections import Counter
from functools import partial
from itertools import count

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import InvalidRequest, PoolConflict
from jobs.models import Job, Lease
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pool_cache, pools
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once, threads
from tests.factories import stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def put(name: str, *queues: str, **body: object) -> None:
    """Define a pool."""
    pools.put(parse_pool(name, {"queues": list(queues), **body}))


@pytest.mark.parametrize("queues", [("a",), ("a", "b", "c")])
@spec("FS-6.1-b")
def test_32_fetchers_never_exceed_the_cap(queues: tuple[str, ...]) -> None:
    cap, number = 7, 240
    for queue in queues:
        stored_ids(number // len(queues), queue=queue)
    put("p", *queues, concurrency=cap)
    first = [job.id for job in fetch(FetchRequest((), number, pool="p")).jobs]
    assert len(first) == cap
    ack([Ack(job_id) for job_id in first])

    def work(size: int) -> list[str]:
        done: list[str] = []
        for _ in range(400):
            found = fetch(FetchRequest((), size, pool="p")).jobs
            assert Lease.objects.filter(pool="p").count() <= cap
            ack([Ack(job.id) for job in found])
            done += [job.id for job in found]
            if not Job.objects.filter(state=None).exists():
                break
        return done

    got = at_once([partial(work, 1 + n % 3) for n in range(32)])
    done = first + [job_id for ids in got for job_id in ids]

    assert len(done) == len(set(done)) == number
    assert_store_is_sound()


@pytest.mark.parametrize(
    ("strategy", "shares"),
    [("weighted", {"a": 60, "b": 40, "c": 20}), ("round-robin", dict.fromkeys("abc", 40))],
)
@spec("FS-7.3-a")
def test_shares_of_16_fetchers_are_exact_and_no_fetch_goes_without(
    strategy: str, shares: dict[str, int]
) -> None:
    for queue in "abc":
        stored_ids(60, queue=queue)
    put("p", "a", "b", "c", strategy=strategy, weights={"a": 3, "b": 2, "c": 1})
    turn = count()

    def work() -> list[str]:
        got: list[str] = []
        while next(turn) < 120:
            found = fetch(FetchRequest((), 1, pool="p")).jobs
            assert len(found) == 1
            got.append(found[0].queue)
        return got

    found = Counter(queue for got in at_once([work] * 16) for queue in got)

    assert found == shares
    assert_store_is_sound()


def test_work_is_conserved_while_queues_run_dry_one_after_the_other() -> None:
    numbers = {"a": 5, "b": 90, "c": 1, "d": 24}
    for queue, number in numbers.items():
        stored_ids(number, queue=queue)
    total = sum(numbers.values())
    turn = count()

    def work() -> list[str]:
        got: list[str] = []
        while next(turn) < total:
            found = fetch(FetchRequest(("a", "b", "c", "d"), 1)).jobs
            assert len(found) == 1, "jobs were there, and one fetch got none"
            got.append(found[0].id)
        return got

    got = [job_id for ids in at_once([work] * 16) for job_id in ids]

    assert len(set(got)) == total
    assert_store_is_sound()


@spec("FS-4.1-a")
def test_16_fetchers_get_500_jobs_once_each() -> None:
    ids = [job_id for queue in "ab" for job_id in stored_ids(250, queue=queue)]

    def work() -> list[tuple[str, int]]:
        got: list[tuple[str, int]] = []
        while jobs := fetch(FetchRequest(("a", "b"), 1)).jobs:
            got += [(job.id, job.attempt) for job in jobs]
        return got

    got = [pair for pairs in at_once([work] * 16) for pair in pairs]

    assert sorted(got) == sorted((job_id, 1) for job_id in ids)


@spec("FS-6.2-b")
def test_of_two_pools_named_at_once_a_worker_is_in_one() -> None:
    def join(pool: str) -> str | None:
        try:
            fetch(FetchRequest(("a",), worker_id="w1", pool=pool))
        except PoolConflict:
            return None
        return pool

    for _ in range(10):
        joined = at_once([partial(join, f"p{n % 2}") for n in range(8)])
        assert len(set(joined) - {None}) == 1


def test_a_changed_pool_counts_in_a_process_that_knows_the_old_one() -> None:
    stored_ids(2, queue="g")
    stored_ids(1, queue="a")
    assert fetch(FetchRequest(("a",))).jobs
    old = pool_cache.current()

    put("gpu", "g", isolated=True)
    pool_cache.cache.latest = old

    assert fetch(FetchRequest(("g",))).jobs == []
    assert pool_cache.current().version > old.version


def test_a_new_pool_counts_in_a_process_that_has_not_heard_of_it() -> None:
    stored_ids(1, queue="a")
    old = pool_cache.current()

    put("p", "a")
    pool_cache.cache.latest = old

    assert len(fetch(FetchRequest((), pool="p")).jobs) == 1


def test_a_pool_that_went_or_got_a_queue_counts_where_a_fetch_has_no_queue_left() -> None:
    stored_ids(1, queue="g")
    stored_ids(1, queue="a")
    put("gpu", "g", isolated=True)
    put("p", "b")
    old = pool_cache.current()

    pools.delete("gpu", force=True)
    put("p", "a", "b")

    pool_cache.cache.latest = old
    assert [job.queue for job in fetch(FetchRequest(("g",))).jobs] == ["g"]
    pool_cache.cache.latest = old
    assert [job.queue for job in fetch(FetchRequest(("a",), pool="p")).jobs] == ["a"]


def test_what_no_pool_allows_is_still_refused_or_empty() -> None:
    put("p", "b")

    with pytest.raises(InvalidRequest):
        fetch(FetchRequest((), pool="other"))
    assert fetch(FetchRequest(("a",), pool="p")).jobs == []


def test_a_pool_that_changes_all_the_time_holds_no_fetch_up() -> None:
    stored_ids(100, queue="a")
    put("p", "a", "b")

    def change() -> int:
        for n in range(30):
            put("p", "a", "b", concurrency=50 + n)
        return 0

    def work() -> int:
        return sum(len(fetch(FetchRequest((), 1, pool="p")).jobs) for _ in range(12))

    with threads(5) as start:
        changing = start(change)
        got = [start(work) for _ in range(4)]
        changing.result()
        assert sum(future.result() for future in got) == 48
