"""The breaker of a region, shared by many processes. Spec: federation 4.3, contract 23.4."""

from datetime import timedelta

import pytest
from django.utils import timezone

from federation.domain.breaker import Outcome, Permit, Rules
from federation.domain.reading import read_region
from federation.models import RegionHealth
from federation.services.health.breakers import Verdict, admit, record_outcome
from federation.services.registry.configure import delete_region, put_region
from jobs.domain.record.events import Kind
from tests.concurrency import at_once
from tests.federation.wire import event_data
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

RULES = Rules()
FAILED = Verdict(Outcome.FAILURE, "HTTP 500")
DONE = Verdict(Outcome.SUCCESS)


@pytest.fixture(autouse=True)
def eu(store: None) -> None:
    put_region(read_region({"id": "eu", "url": "https://eu.example.org"}))


def is_now(**columns: object) -> None:
    RegionHealth.objects.update(**columns)


def row() -> RegionHealth:
    return RegionHealth.objects.get()


@spec("FED-4.3-d")
def test_half_open_breaker_lets_one_of_20_pass() -> None:
    is_now(breaker="open", opened_at=timezone.now() - timedelta(seconds=31), failures=5)

    permits = at_once([lambda: admit("eu", RULES)] * 20)

    assert [one for one in permits if one is not None] == [Permit(is_probe=True)]
    assert row().breaker == "half-open"


@spec("FED-4.3-c")
def test_nothing_passes_before_the_cooldown_is_over() -> None:
    is_now(breaker="open", opened_at=timezone.now() - timedelta(seconds=28), failures=5)

    assert at_once([lambda: admit("eu", RULES)] * 5) == [None] * 5
    assert row().breaker == "open"


def test_probe_that_nobody_told_of_is_forgotten_after_its_lease() -> None:
    over = timezone.now() - timedelta(seconds=1)
    is_now(breaker="half-open", opened_at=over, probe_until=over)

    permits = at_once([lambda: admit("eu", RULES)] * 8)

    assert sum(one is not None for one in permits) == 1


@spec("FED-4.3-b")
def test_failures_of_many_are_all_counted_and_open_it_once() -> None:
    at_once([lambda: record_outcome("eu", Permit(), FAILED, RULES)] * 4)
    assert (row().breaker, row().failures) == ("closed", 4)

    at_once([lambda: record_outcome("eu", Permit(), FAILED, RULES)] * 6)

    assert (row().breaker, row().failures) == ("open", 5)
    assert len(event_data(Kind.CIRCUIT_OPENED)) == 1
    assert row().last_error == "HTTP 500"


def test_success_starts_the_count_anew_and_writes_nothing_where_there_is_none() -> None:
    record_outcome("eu", Permit(), FAILED, RULES)

    record_outcome("eu", Permit(), DONE, RULES)

    assert row().failures == 0


def test_probe_that_fails_opens_it_again_and_one_that_succeeds_closes_it() -> None:
    is_now(breaker="open", opened_at=timezone.now() - timedelta(seconds=31), failures=5)
    permit = admit("eu", RULES)
    assert permit is not None
    record_outcome("eu", permit, FAILED, RULES)
    assert row().breaker == "open"
    assert admit("eu", RULES) is None

    is_now(opened_at=timezone.now() - timedelta(seconds=31))
    permit = admit("eu", RULES)
    assert permit is not None
    record_outcome("eu", permit, DONE, RULES)

    assert (row().breaker, row().failures) == ("closed", 0)
    assert len(event_data(Kind.CIRCUIT_CLOSED)) == 1


def test_what_became_of_a_call_to_a_deleted_region_is_forgotten() -> None:
    delete_region("eu")

    record_outcome("eu", Permit(), FAILED, RULES)

    assert admit("eu", RULES) is None
    assert RegionHealth.objects.count() == 0
