"""Noisy tenants are found by aggregated counts. Spec: MT 9.1, contract 21.5."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Audit, Event, Lane, TenantPeriod
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from tenancy import queries
from tenancy.models import Noise, Throttle
from tenancy.services.watch import watch
from tests.alerts import alerts_of
from tests.factories import error
from tests.jobs.services.record.test_rates import aggregated
from tests.spec import spec
from tests.tenancy.noise import LOUD, backlog, look, noise, silence
from tests.tenancy.wire import answer, put, send

pytestmark = pytest.mark.usefixtures("store")

DEPTH, ENQUEUED = "queue_depth_ratio_exceeded", "enqueue_rate_ratio_exceeded"


def shown(tenant: str = "blue") -> dict[str, Any]:
    """Read a tenant over the API."""
    found: dict[str, Any] = answer(send("GET", f"admin/tenants/{tenant}"))
    return found


def listed(query: str = "") -> list[str]:
    """List tenants over the API."""
    found = answer(send("GET", f"admin/tenants{query}"))
    return [one["tenant_id"] for one in found["items"]]


def minutes_pass(minutes: float) -> None:
    """Move the counts of minutes into the past."""
    for row in TenantPeriod.objects.filter(span_s=60):
        TenantPeriod.objects.filter(pk=row.pk).update(at=F("at") - timedelta(minutes=minutes))


@spec("MT-9.1-a")
def test_detail_tells_that_a_tenant_is_noisy_and_by_what() -> None:
    noise()

    assert watch() == 1

    found = shown()
    assert (found["noisy"], found["noisy_reasons"]) == (True, [DEPTH, ENQUEUED])
    assert found["tenant"]["noisy"] is True
    assert found["noisy_signals"][0] == {
        "reason": DEPTH, "value": LOUD, "compared_with": 2, "threshold": 10,
    }  # fmt: skip
    told = alerts_of("tenant_noisy", "tenant_throttled")
    assert [(one.kind, one.subject) for one in told] == [("tenant_noisy", "blue")]
    other = shown("red")
    assert (other["noisy"], other["noisy_reasons"], other["noisy_signals"]) == (False, [], [])
    assert watch() == 0


@spec("MT-9.1-a")
def test_active_jobs_of_long_ago_count() -> None:
    backlog("blue", 12)
    backlog("red", 3)
    fetch(FetchRequest(("default",), count=15))
    aggregated()
    minutes_pass(30)

    watch()

    assert shown()["noisy_reasons"] == ["active_ratio_exceeded"]


@spec("MT-9.1-a")
def test_failed_attempts_count() -> None:
    backlog("blue", 24, retry={"max_attempts": 1})
    backlog("red", 24)
    jobs = fetch(FetchRequest(("default",), count=48)).jobs
    ack([Ack(job.id) for job in jobs if job.tenant == "red"])
    nack([Nack(job.id, error()) for job in jobs if job.tenant == "blue"])

    look()

    assert shown()["noisy_reasons"] == ["error_rate_ratio_exceeded"]


@spec("MT-9.1-a")
def test_noise_is_over_when_the_others_are_as_busy() -> None:
    noise()
    watch()
    silence()

    assert watch() == 1

    assert shown()["noisy"] is False
    assert not Noise.objects.exists()


@spec("MT-9.1-a")
def test_what_is_over_for_a_minute_does_not_count() -> None:
    noise()
    minutes_pass(2)

    assert queries.samples() == []
    assert watch() == 0


@spec("MT-9.1-a")
def test_minute_before_counts_by_the_part_that_is_left_of_it() -> None:
    noise()
    minutes_pass(1)

    (one,) = (one for one in queries.samples() if one.tenant == "blue")

    assert 0 < one.enqueued <= LOUD
    assert one.queued == LOUD


@spec("MT-9.1-a")
def test_tenants_are_listed_by_noise() -> None:
    noise()
    watch()

    assert listed("?noisy=true") == ["blue"]
    assert listed("?noisy=false") == ["_default", "red"]
    assert listed() == ["_default", "blue", "red"]
    answer(send("GET", "admin/tenants?noisy=maybe"), 400)


@spec("MT-9.1-a")
def test_nobody_is_noisy_when_nobody_looks_any_more() -> None:
    noise()
    watch()
    Noise.objects.update(seen_at=Now() - timedelta(minutes=5))

    assert shown()["noisy"] is False
    assert listed("?noisy=true") == []


@spec("MT-9.1-a")
def test_default_tenant_is_listed_as_noisy_though_nothing_was_said_about_it() -> None:
    noise()
    watch()
    Noise.objects.update(tenant="_default")

    assert listed("?noisy=true") == ["_default"]
    assert listed("?noisy=false") == ["blue", "red"]


@spec("MT-9.2-a")
def test_throttling_is_off_unless_chosen() -> None:
    put("blue", fairness_weight=10)
    noise()

    watch()

    assert shown()["throttle"] is None
    assert not Throttle.objects.exists()
    assert not Event.objects.filter(kind__in=(88, 89)).exists()
    assert not Audit.objects.filter(action="tenant.throttled").exists()
    assert set(Lane.objects.values_list("weight", flat=True)) == {1, 10}


@spec("contract 31")
def test_a_tenant_sees_no_numbers_of_the_others(with_keys: Any, new_key: Any) -> None:
    noise()
    watch()
    headers = new_key("admin", tenant="blue")

    for found in (
        answer(send("GET", "admin/tenants/blue", **headers)),
        answer(send("GET", "admin/tenants", **headers))["items"][0],
    ):
        assert (found["noisy"], found["noisy_signals"]) == (True, [])
