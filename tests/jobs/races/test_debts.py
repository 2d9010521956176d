"""Debts: charges for jobs whose lane another claim holds. Spec: contract 20.4."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from django.db import transaction

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Debt, Lane
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import lanes
from tests.concurrency import threads
from tests.factories import DraftFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def store(each: int, *tenants: str) -> None:
    """Store jobs of tenants in one queue."""
    enqueue([replace(DraftFactory.create(), tenant=name) for _ in range(each) for name in tenants])


def taken(number: int) -> int:
    """Claim up to `number` jobs and return how many the claim got."""
    return len(fetch(FetchRequest(("default",), count=number)).jobs)


def of_tenants(number: int) -> Counter[str]:
    """Claim up to `number` jobs and return how many each tenant got."""
    return Counter(job.tenant for job in fetch(FetchRequest(("default",), count=number)).jobs)


@contextmanager
def held(*tenants: str) -> Iterator[Callable[[int], Counter[str]]]:
    """Lock the lanes of these tenants, or all; yield a function that claims in another session."""
    lanes_ = Lane.objects.select_for_update()
    with transaction.atomic(), threads(1) as start:
        list(lanes_.filter(tenant__in=tenants) if tenants else lanes_)
        yield lambda number: start(lambda: of_tenants(number)).result()


def taken_past_held_lanes(number: int) -> int:
    """Claim in another session while this session locks all lanes."""
    with held() as claim:
        return claim(number).total()


def charged() -> float:
    """Return the charges of all lanes in jobs: virtual time multiplied by weight."""
    return sum(vt * weight for vt, weight in Lane.objects.values_list("vt", "weight"))


def owed() -> float:
    """Return the debts of all lanes in jobs: cost multiplied by weight."""
    weights = dict(Lane.objects.values_list("id", "weight"))
    return sum(cost * weights[lane] for lane, cost in Debt.objects.values_list("lane_id", "cost"))


@spec("contract 9.2")
def test_a_what_is_taken_past_a_held_lane_is_charged_by_the_next_claim() -> None:
    store(30, "a", "b", "c")
    lanes.set_weight_and_cap("b", weight=4, cap=None)

    assert taken_past_held_lanes(7) == 7
    assert charged() == 0
    assert owed() == pytest.approx(7)

    assert taken(30) == 30
    assert charged() == pytest.approx(37)
    assert not Debt.objects.exists()


@spec("contract 9.2")
def test_a_what_is_taken_past_held_lanes_is_shared_by_weight() -> None:
    store(30, "a", "b", "c", "d")
    lanes.set_weight_and_cap("a", weight=5, cap=None)
    lanes.set_weight_and_cap("b", weight=3, cap=None)

    with held() as claim:
        assert claim(20) == {"a": 10, "b": 6, "c": 2, "d": 2}
        assert claim(10) == {"a": 5, "b": 3, "c": 1, "d": 1}


@spec("contract 9.2")
def test_a_a_claim_that_gets_some_of_the_lanes_does_not_serve_those_alone() -> None:
    store(30, "a", "b", "c", "d")

    with held("a", "b", "c") as claim:
        found = claim(20)

    assert set(found.values()) <= {4, 5, 6}, found
    assert charged() == found["d"]
    assert owed() == 20 - found["d"]


@spec("contract 9.2")
def test_a_what_is_owed_counts_before_the_next_claim_chooses() -> None:
    store(30, "a", "b")
    Debt.objects.create(lane_id=Lane.objects.get(tenant="a").id, cost=10)

    assert of_tenants(8) == {"b": 8}
    assert not Debt.objects.exists()
    assert of_tenants(12) == {"a": 5, "b": 7}


@spec("contract 9.2")
def test_a_what_is_owed_is_charged_though_a_limit_lets_nothing_go() -> None:
    store(30, "a", "b")
    for tenant in ("a", "b"):
        lanes.set_weight_and_cap(tenant, weight=1, cap=2)
    assert taken(2) + taken(2) == 4
    Lane.objects.update(blocked_by=None)  # as if no claim had met the limits yet
    Debt.objects.create(lane_id=Lane.objects.get(tenant="a").id, cost=10)

    assert taken(8) == 0

    assert not Debt.objects.exists()
    assert charged() == pytest.approx(14)


@spec("contract 9.2")
def test_a_a_lane_that_is_empty_owes_nothing_when_it_comes_back() -> None:
    store(3, "a", "b")
    assert taken_past_held_lanes(6) == 6
    assert Debt.objects.exists()

    assert taken(1) == 0

    assert not Debt.objects.exists()
    assert not Lane.objects.filter(active=True).exists()


@spec("contract 9.2")
def test_a_a_lane_alone_takes_no_note_of_what_it_costs() -> None:
    store(9, "a")

    assert taken_past_held_lanes(4) == 4
    assert taken(4) == 4

    assert (charged(), Debt.objects.count()) == (0, 0)
