"""Jobs that are taken of lanes while another claim holds those. Spec: contract 20 §4."""

from dataclasses import replace

import pytest
from django.db import transaction

from jobs.domain.claim import FetchRequest
from jobs.models import Debt, Lane
from jobs.services import lanes
from jobs.services.enqueue import enqueue
from jobs.services.fetch import fetch
from tests.concurrency import threads
from tests.factories import DraftFactory

pytestmark = pytest.mark.usefixtures("store")


def store(each: int, *tenants: str) -> None:
    """Store jobs of tenants in one queue."""
    enqueue([replace(DraftFactory.create(), tenant=name) for _ in range(each) for name in tenants])


def taken(number: int) -> int:
    """Claim; returns how many there were."""
    return len(fetch(FetchRequest(("default",), count=number)).jobs)


def taken_past_held_lanes(number: int) -> int:
    """Claim in another session while this one holds all lanes, as a claim does."""
    with transaction.atomic(), threads(1) as start:
        list(Lane.objects.select_for_update())
        return start(lambda: taken(number)).result()


def charged() -> float:
    """Return how many jobs all lanes were charged, by their weights."""
    return sum(vt * weight for vt, weight in Lane.objects.values_list("vt", "weight"))


def owed() -> float:
    """Return the same of what is yet to be charged."""
    weights = dict(Lane.objects.values_list("id", "weight"))
    return sum(cost * weights[lane] for lane, cost in Debt.objects.values_list("lane_id", "cost"))


def test_9_2_a_what_is_taken_past_a_held_lane_is_charged_by_the_next_claim() -> None:
    store(30, "a", "b", "c")
    lanes.set_terms("b", weight=4, cap=None)

    assert taken_past_held_lanes(7) == 7
    assert charged() == 0
    assert owed() == pytest.approx(7)

    assert taken(30) == 30
    assert charged() == pytest.approx(37)
    assert not Debt.objects.exists()


def test_9_2_a_a_lane_that_is_empty_owes_nothing_when_it_comes_back() -> None:
    store(3, "a", "b")
    assert taken_past_held_lanes(6) == 6
    assert Debt.objects.exists()

    assert taken(1) == 0

    assert not Debt.objects.exists()
    assert not Lane.objects.filter(active=True).exists()


def test_9_2_a_a_lane_alone_takes_no_note_of_what_it_costs() -> None:
    store(9, "a")

    assert taken_past_held_lanes(4) == 4
    assert taken(4) == 4

    assert (charged(), Debt.objects.count()) == (0, 0)
