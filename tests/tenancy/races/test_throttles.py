"""Throttles next to operators and other leaders: one event each, and claims use stored rows."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from jobs.domain.errors import NotFound
from jobs.domain.record.events import Kind
from jobs.models import Lane, Limit
from tenancy.domain.tenant import Definition, TenantLimits
from tenancy.models import Tenant, Throttle
from tenancy.services.tenant_cache import policy_of
from tenancy.services.tenants import delete, find, put, put_limits
from tenancy.services.throttles import begin, expire, extend, release
from tenancy.services.watch import watch
from tests.concurrency import at_once
from tests.tenancy.noise import backlog, choose, noise
from tests.tenancy.wire import event_data

pytestmark = pytest.mark.usefixtures("store")

REASONS = ["queue_depth_ratio_exceeded"]


def assert_events_match_store() -> None:
    """Check that the events of begun and ended throttles match the stored throttles."""
    counts = Throttle.objects.filter(hold="applied").count()
    ended = len(event_data(Kind.TENANT_THROTTLE_RELEASED))
    assert len(event_data(Kind.TENANT_THROTTLED)) - ended == counts


def test_two_leaders_throttle_a_tenant_once(settings: Any) -> None:
    choose(settings, "weight")
    put("blue", Definition(weight=10))
    noise()

    at_once([watch] * 6)
    at_once([lambda: begin("blue", REASONS, active=0)] * 6)

    assert len(event_data(Kind.TENANT_THROTTLED)) == 1
    assert_events_match_store()


@pytest.mark.parametrize("action", ["weight", "concurrency"])
def test_lanes_follow_whatever_is_changed_meanwhile(settings: Any, action: str) -> None:
    choose(settings, action, THROTTLE_MS=1)
    put("blue", Definition(weight=10, limits=TenantLimits(max_concurrency=50)))
    backlog("blue", 2)
    backlog("blue", 2, queue="other")

    def change(number: int) -> Callable[[], object]:
        limits = TenantLimits(max_concurrency=number * 10)
        return [
            lambda: begin("blue", REASONS, active=5),
            lambda: release("blue"),
            expire,
            lambda: extend(["blue"]),
            lambda: put("blue", Definition(weight=number * 10, limits=limits)),
            lambda: put_limits("blue", limits),
            lambda: begin("blue", REASONS, active=5),
        ][number % 7]

    at_once([change(number) for number in range(1, 50)])

    policy = policy_of(find("blue"))
    assert set(Lane.objects.values_list("weight", flat=True)) == {policy.effective_weight}
    assert (Limit.objects.get().policy or {})["concurrency"] == policy.cap
    assert_events_match_store()


def test_tenant_that_is_deleted_meanwhile_leaves_no_throttle(settings: Any) -> None:
    choose(settings, "weight")

    for number in range(8):
        name = f"t{number}"
        put(name, Definition(weight=10))

        def remove(name: str = name) -> None:
            with suppress(NotFound):
                delete(name)

        def throttle(name: str = name) -> None:
            begin(name, REASONS, active=0)

        at_once([throttle, remove, throttle])

    assert not Tenant.objects.exists()
    assert not Throttle.objects.exists()
    assert_events_match_store()
