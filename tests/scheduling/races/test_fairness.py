"""Fairness of the rotation under many fetchers, by the event record. Spec: FS 7 to 9.

The guarantees of `python -m bench.fairness`, at a small size and without a clock. Claims with a
rotation follow one another under a lock and write their events under it. So the numbers of the
events order the claims; within a claim, the order of its answer counts.
"""

from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from bench.fairness.shares import longest_wait, shares_of, widest_gap, worst_jain, worst_share
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.events import Kind
from jobs.models import Event
from jobs.services.dispatch.fetch import fetch
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pools
from tests.concurrency import at_once
from tests.factories import stored_ids
from tests.scheduling.pools import of_tenant
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

FETCHERS, MOST = 16, 20
Claim = tuple[int, list[str]]  # number of requested jobs, and the ids of the answer


def put(name: str, **body: object) -> None:
    """Define a pool."""
    pools.put(parse_pool(name, body))


def fill(**numbers: int) -> dict[str, int]:
    """Store a number of jobs in each queue; return these numbers."""
    for queue, number in numbers.items():
        stored_ids(number, queue=queue)
    return numbers


def fetched(
    wish: Callable[[int], FetchRequest], turns: int, *, seed: int = 1, most: int = MOST
) -> list[Claim]:
    """Fetch 1 to `most` jobs at a time in 16 threads, until they requested `turns` in total."""
    claims: list[Claim] = []
    left = [turns]

    def work(number: int) -> None:
        draw = Random(f"{seed}.{number}")  # noqa: S311 - must be repeatable
        while left[0] > 0:
            wanted = draw.randint(1, most)
            left[0] -= wanted
            claims.append((wanted, [job.id for job in fetch(wish(wanted)).jobs]))

    at_once([partial(work, n) for n in range(FETCHERS)])
    return claims


def in_order(claims: list[Claim]) -> list[Claim]:
    """Return the claims in the order of the record, without empty claims."""
    seq = numbers()
    return sorted((c for c in claims if c[1]), key=lambda c: min(seq[job_id] for job_id in c[1]))


def numbers() -> dict[str, int]:
    """Return the number of the start of each job."""
    starts = Event.objects.filter(kind=Kind.STARTED).values_list("job_id", "seq")
    return {str(job_id): seq for job_id, seq in starts}


def named(claims: list[Claim], member: str = "queue") -> list[str]:
    """Return the queue, or tenant, of each turn in order."""
    starts = Event.objects.filter(kind=Kind.STARTED).values_list("job_id", member)
    of = {str(job_id): name for job_id, name in starts}
    return [of[job_id] for _, ids in in_order(claims) for job_id in ids]


def pooled(most: int) -> FetchRequest:
    """Return a FETCH of a worker in the pool."""
    return FetchRequest((), most, pool="p")


@pytest.mark.parametrize("seed", [1, 2])
@spec("FS-7.3-a")
def test_weighted_shares_hold_in_every_window_of_16_fetchers(seed: int) -> None:
    draw = Random(seed)  # noqa: S311 - must be repeatable
    weights = {"a": 5, "b": 3, "c": 1}
    if seed > 1:
        weights = {f"q{n}": draw.randint(1, 20) for n in range(draw.randint(4, 12))}
    shares, turns, window = shares_of(weights), 500, 100
    fill(**{queue: int((turns + FETCHERS * MOST) * part) + 30 for queue, part in shares.items()})
    put("p", queues=weights, strategy="weighted")

    order = named(fetched(pooled, turns, seed=seed))

    # Every queue's virtual time is within one of its turns of the lowest. So its number of turns is
    # within one of its share of the total deviation, which is at most one turn per queue.
    assert window * worst_share(order, shares, window) <= 1 + len(shares) * max(shares.values())


@pytest.mark.parametrize(("ratio", "longest"), [(0.1, 9), (0.25, 3)])
@spec("FS-8.2-a")
def test_no_window_of_16_fetchers_lacks_the_least_share(ratio: float, longest: int) -> None:
    stocks = fill(critical=700, middle=40, low=300)
    put("p", queues=list(stocks), strategy="strict", starvation_prevention={
        "min_dispatch_ratio": ratio, "rotation_interval": "PT1H",
    })  # fmt: skip

    order = named(fetched(pooled, 500))

    # `middle` becomes empty on the way; a queue counts while it has jobs
    assert max(longest_wait(order, stocks).values()) <= longest


@spec("FS-7.1-a")
def test_round_robin_of_16_fetchers_keeps_queues_within_a_turn() -> None:
    stocks = fill(**dict.fromkeys("abcde", 170))
    put("p", queues=list(stocks))

    order = named(fetched(pooled, 500))

    # one turn per fetcher would be allowed; the lock of the pool makes it one in total
    assert widest_gap(order, stocks) <= 1


@pytest.mark.parametrize("strategy", ["round-robin", "weighted"])
def test_no_fetch_of_16_gets_less_than_there_is(strategy: str) -> None:
    stocks = fill(a=5, c=190, e=1, g=60)
    put("p", queues=list("abcdefgh"), strategy=strategy)
    total = sum(stocks.values())
    claims: list[Claim] = []
    seen_when_idle: list[int] = []

    def work(number: int) -> None:
        draw = Random(number)  # noqa: S311 - must be repeatable
        while True:
            wanted = draw.randint(1, MOST)
            ids = [job.id for job in fetch(pooled(wanted)).jobs]
            claims.append((wanted, ids))
            if not ids:
                seen_when_idle.append(Event.objects.filter(kind=Kind.STARTED).count())
                return

    at_once([partial(work, n) for n in range(FETCHERS)])

    assert seen_when_idle == [total] * FETCHERS
    left = total
    for wanted, ids in in_order(claims):
        assert len(ids) == min(wanted, left)
        left -= len(ids)


@spec("FS-9.1-a")
def test_a_burst_holds_up_nobody_who_comes_later() -> None:
    of_tenant("A", 400)
    for tenant in "BCDEF":
        of_tenant(tenant, 10)

    order = named(fetched(shared, 200, most=1), "tenant")

    # the tenants need 10 turns each at a share of a sixth; twice as long is allowed
    last = max(n for n, tenant in enumerate(order, 1) if tenant != "A")
    assert sum(tenant != "A" for tenant in order) == 50
    assert last <= 2 * 10 * 6


def shared(most: int) -> FetchRequest:
    """Return a FETCH from the tenants' queue."""
    return FetchRequest(("q",), most)


@pytest.mark.parametrize("size", [1, 20])
@spec("FS-9.2-b")
def test_equal_tenants_have_a_jain_index_of_one(size: int) -> None:
    names = [f"t{n}" for n in range(10)]
    for name in names:
        of_tenant(name, 60)

    order = [job.tenant for _ in range(400 // size) for job in fetch(shared(size)).jobs]

    # a single fetcher, because the rule alone does not bound several fetchers
    assert worst_jain(order, names, 100) >= 0.99


@pytest.mark.parametrize("size", [1, 20])
@spec("FS-9.2-a")
def test_weighted_tenants_are_within_a_turn_of_their_shares(size: int) -> None:
    weights = {"A": 5, "B": 3, "C": 1, "D": 1}
    for name in weights:
        of_tenant(name, 260)
    put("p", queues=["q"], tenant_fairness={"weights": {"A": 5, "B": 3}})

    order = [job.tenant for _ in range(400 // size) for job in fetch(shared(size)).jobs]

    # the bound is derived as for queues above
    assert 100 * worst_share(order, shares_of(weights), 100) <= 1 + 4 * 0.5
