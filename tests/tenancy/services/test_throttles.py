"""Noisy tenants are throttled for a while, if configured. Spec: MT 9.2, contract 21.5."""

from collections import Counter
from typing import Any

import orjson
import pytest

from jobs.domain.record.events import Kind
from jobs.domain.wire.times import read_time
from jobs.models import Audit, Lane, LaneKey
from jobs.services.upkeep.reset import clear_caches
from scheduling.domain.pool_request import parse_pool
from scheduling.services.pools import put as put_pool
from tenancy.domain.tenant import Standing
from tenancy.models import Tenant, Throttle
from tenancy.services.tenants import delete, set_standing
from tenancy.services.throttles import expire, release
from tenancy.services.watch import watch
from tests.alerts import alerts_of
from tests.spec import spec
from tests.tenancy.noise import (
    backlog,
    choose,
    fetched,
    look,
    noise,
    pass_throttles,
    silence,
)
from tests.tenancy.wire import answer, event_data, put, send
from tests.webhooks.conftest import Subscribe, configure, empty, receiver, subscribe
from tests.webhooks.services.test_delivery import relay_all
from webhooks.models import Delivery

__all__ = ["configure", "empty", "receiver", "subscribe"]

pytestmark = pytest.mark.usefixtures("store")

DEPTH, ENQUEUED = "queue_depth_ratio_exceeded", "enqueue_rate_ratio_exceeded"


def shown(tenant: str = "blue") -> dict[str, Any]:
    """Read a tenant over the API."""
    found: dict[str, Any] = answer(send("GET", f"admin/tenants/{tenant}"))
    return found


def weights(tenant: str = "blue") -> set[float]:
    """Return the weights of a tenant's lanes, as claims use them."""
    ids = list(LaneKey.objects.filter(tenant=tenant).values_list("id", flat=True))
    return set(Lane.objects.filter(id__in=ids).values_list("weight", flat=True))


@pytest.fixture
def by_weight(settings: Any) -> None:
    """Reduce the weights of noisy tenants."""
    choose(settings, "weight")


@pytest.fixture
def by_concurrency(settings: Any) -> None:
    """Reduce the concurrency of noisy tenants."""
    choose(settings, "concurrency")


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-a")
def test_weight_is_reduced_and_claims_obey_at_once() -> None:
    put("blue", fairness_weight=10)
    noise()
    backlog("green", 100)

    watch()

    found = shown()
    assert (found["fairness_weight"], found["effective_weight"]) == (10, 2)
    told = alerts_of("tenant_noisy", "tenant_throttled")
    assert [(one.kind, one.subject) for one in told] == [("tenant_throttled", "blue")]
    throttle = found["throttle"]
    since, until = (read_time(throttle.pop(name)) for name in ("since", "until"))
    assert throttle == {
        "action": "weight_reduced", "reasons": [DEPTH, ENQUEUED],
        "original_weight": 10, "effective_weight": 2,
    }  # fmt: skip
    assert (until - since).total_seconds() == 300
    assert Counter(fetched(30))["blue"] == pytest.approx(19, abs=1)  # 2 : 1, red has two jobs
    fairness = answer(send("GET", "admin/tenants/blue/stats"))["fairness"]
    assert (fairness["weight"], fairness["effective_weight"]) == (10, 2)
    assert fairness["effective_share"] == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-a")
def test_lanes_that_are_made_later_have_the_reduced_weight() -> None:
    put("blue", fairness_weight=10)
    noise()
    watch()

    backlog("blue", 1, queue="other", priority=7)

    assert weights() == {2}


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-a")
def test_weight_that_a_pool_gives_is_reduced_too() -> None:
    shares = {"weights": {"blue": 50, "red": 20}}
    put_pool(parse_pool("main", {"queues": ["default"], "tenant_fairness": shares}))
    put("blue", fairness_weight=10)
    noise()
    assert weights() == {50}

    watch()

    assert weights() == {10}
    release("blue")
    assert weights() == {50}


@pytest.mark.usefixtures("by_concurrency")
@spec("MT-9.2-a")
def test_concurrency_is_reduced_and_claims_obey_at_once() -> None:
    put("blue", limits={"max_concurrency": 20})
    noise()

    watch()

    throttle = shown()["throttle"]
    assert throttle["action"] == "concurrency_reduced"
    assert (throttle["original_concurrency"], throttle["effective_concurrency"]) == (20, 4)
    assert shown()["limits"]["max_concurrency"] == 20
    assert Counter(fetched(50)) == {"blue": 4, "red": 2}
    assert pass_throttles() == 1
    assert Counter(fetched(50)) == {"blue": 16}


@pytest.mark.usefixtures("by_concurrency")
@spec("MT-9.2-a")
def test_concurrency_without_a_limit_counts_from_what_is_active() -> None:
    put("blue")
    noise()
    assert Counter(fetched(42)) == {"blue": 40, "red": 2}

    look()

    throttle = shown()["throttle"]
    assert (throttle["original_concurrency"], throttle["effective_concurrency"]) == (40, 8)
    assert fetched(50) == []
    release("blue")
    assert Counter(fetched(50)) == {"blue": 50}


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-a")
def test_the_weight_that_nobody_set_is_reduced_too() -> None:
    noise()
    backlog("green", 100)

    watch()

    throttle = shown()["throttle"]
    assert (throttle["original_weight"], throttle["effective_weight"]) == (1, 0.2)
    assert Counter(fetched(62))["blue"] == pytest.approx(10, abs=1)  # 1 : 5, red has two jobs
    assert pass_throttles() == 1
    assert Counter(fetched(40))["blue"] == pytest.approx(20, abs=1)


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-a")
def test_a_weight_of_a_pool_is_reduced_where_the_tenants_own_is_one() -> None:
    shares = {"weights": {"blue": 50, "red": 20}}
    put_pool(parse_pool("main", {"queues": ["default"], "tenant_fairness": shares}))
    noise()

    watch()

    assert weights() == {10}
    assert shown()["effective_weight"] == 0.2
    release("blue")
    assert weights() == {50}


@pytest.mark.parametrize(
    ("action", "words", "original", "effective"),
    [
        ("weight", "its weight counts as 2 instead of 10", 10, 2),
        ("concurrency", "it may have active 4 instead of 20", 20, 4),
    ],
)
def test_why_a_job_waits_tells_that_its_tenant_is_throttled(
    settings: Any, action: str, words: str, original: int, effective: int
) -> None:
    choose(settings, action)
    put("blue", fairness_weight=10, limits={"max_concurrency": 20})
    noise()
    (job,) = backlog("blue", 1)
    before = _gates_of(job)

    watch()

    gate = _gates_of(job)["throttle"]
    assert "throttle" not in before
    assert (gate["name"], gate["state"]) == ("blue", "open")
    assert words in gate["message"]
    assert gate["numbers"] == {"original": original, "effective": effective}
    assert gate["until"] == shown()["throttle"]["until"]
    pass_throttles()
    assert "throttle" not in _gates_of(job)


def _gates_of(job_id: str) -> dict[str, Any]:
    """Return the gates of a job by name."""
    found = answer(send("GET", f"admin/jobs/{job_id}/explain"))["gates"]
    return {gate["gate"]: gate for gate in found}


@pytest.mark.usefixtures("by_concurrency")
@spec("MT-9.2-a")
def test_nothing_begins_where_nothing_can_be_taken() -> None:
    put("blue", limits={"max_concurrency": 1})
    noise()

    watch()

    assert shown()["noisy"] is True
    assert shown()["throttle"] is None
    assert event_data(Kind.TENANT_THROTTLED) == []


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-b")
def test_throttling_is_told_and_audited_once() -> None:
    put("blue", fairness_weight=10)
    noise()

    assert watch() == 2
    assert watch() == 0

    (event,) = event_data(Kind.TENANT_THROTTLED)
    throttle = shown()["throttle"]
    assert event == {
        "tenant_id": "blue", "reason": DEPTH, "reasons": [DEPTH, ENQUEUED],
        "action": "weight_reduced", "original_weight": 10, "effective_weight": 2,
        "until": event["until"],
    }  # fmt: skip
    assert event["until"] <= throttle["until"]
    entry = Audit.objects.get(action="tenant.throttled")
    assert (entry.actor, entry.target, entry.data) == ("system", "blue", event)


@pytest.mark.usefixtures("by_weight")
@spec("MT-11.1-a")
def test_throttles_are_in_the_list_of_events_under_their_names() -> None:
    put("blue", fairness_weight=10)
    noise()
    watch()
    pass_throttles()

    found = answer(send("GET", "events?types=tenant.throttled,tenant.throttle_released"))["events"]

    assert {one["type"] for one in found} == {"tenant.throttled", "tenant.throttle_released"}
    assert {one["data"]["tenant_id"] for one in found} == {"blue"}


@pytest.mark.usefixtures("by_weight")
@spec("MT-11.1-a")
def test_throttles_are_delivered_to_who_subscribed_and_may_see_them(
    subscribe: Subscribe,
) -> None:
    own = subscribe("tenant.throttled", tenant="blue")
    every = subscribe("tenant.*")
    subscribe("tenant.*", tenant="red")
    put("blue", fairness_weight=10)
    noise()
    watch()
    pass_throttles()

    relay_all()

    found: dict[str, list[str]] = {own.id: [], every.id: []}
    for delivery in Delivery.objects.order_by("id"):
        event = orjson.loads(bytes(delivery.body))
        assert event["data"]["tenant_id"] == "blue" or event["type"] == "tenant.created"
        found.setdefault(delivery.subscription_id, []).append(event["type"])
    assert found[own.id] == ["tenant.throttled"]
    assert {"tenant.throttled", "tenant.throttle_released"} < set(found[every.id])


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-c")
def test_throttle_ends_when_its_time_has_passed() -> None:
    put("blue", fairness_weight=10)
    noise()
    watch()
    assert expire() == 0
    silence()
    watch()

    assert pass_throttles() == 1

    found = shown()
    assert (found["effective_weight"], found["throttle"]) == (10, None)
    assert weights() == {10}
    (event,) = event_data(Kind.TENANT_THROTTLE_RELEASED)
    assert (event["tenant_id"], event["reason"], event["released"]) == ("blue", DEPTH, "expired")
    assert (event["original_weight"], event["effective_weight"]) == (10, 2)
    assert Audit.objects.get(action="tenant.throttle_released").actor == "system"
    assert expire() == 0


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-c")
def test_throttle_lasts_on_while_the_tenant_is_noisy() -> None:
    put("blue", fairness_weight=10)
    noise()
    watch()
    Throttle.objects.update(until=Throttle.objects.get().since)

    watch()

    assert expire() == 0
    assert weights() == {2}
    assert event_data(Kind.TENANT_THROTTLE_RELEASED) == []
    assert Throttle.objects.get().until > Throttle.objects.get().since


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-c")
def test_operator_releases_with_a_reason_and_it_stays_so_for_a_while() -> None:
    put("blue", fairness_weight=10)
    noise()
    watch()

    found = answer(send("DELETE", "admin/tenants/blue/throttle", {"reason": "they called"}))

    assert (found["throttle"], found["effective_weight"], found["noisy"]) == (None, 10, True)
    assert found["tenant"]["throttle"] is None
    assert weights() == {10}
    (event,) = event_data(Kind.TENANT_THROTTLE_RELEASED)
    assert (event["tenant_id"], event["released"]) == ("blue", "manual")
    entry = Audit.objects.get(action="tenant.throttle_released")
    assert (entry.target, entry.reason) == ("blue", "they called")
    assert watch() == 0
    answer(send("DELETE", "admin/tenants/blue/throttle"))
    assert len(event_data(Kind.TENANT_THROTTLE_RELEASED)) == 1
    pass_throttles()
    assert len(event_data(Kind.TENANT_THROTTLE_RELEASED)) == 1
    assert watch() == 1
    assert weights() == {2}


@spec("MT-9.2-c")
def test_only_what_is_there_can_be_released() -> None:
    put("blue")

    assert answer(send("DELETE", "admin/tenants/blue/throttle"))["throttle"] is None
    answer(send("DELETE", "admin/tenants/red/throttle"), 404)
    answer(send("DELETE", "admin/tenants/blue/throttle", {"reason": 7}), 422)
    answer(send("DELETE", "admin/tenants/blue/throttle", {"why": "x"}), 422)
    assert not Audit.objects.filter(action="tenant.throttle_released").exists()


@spec("MT-9.2-a")
def test_dry_run_tells_and_changes_nothing(settings: Any) -> None:
    choose(settings, "weight", THROTTLE_DRY_RUN=True)
    put("blue", fairness_weight=10)
    noise()

    watch()
    watch()

    found = shown()
    assert (found["effective_weight"], found["throttle"]) == (10, None)
    assert weights() == {10}
    (event,) = event_data(Kind.TENANT_THROTTLED)
    assert (event["dry_run"], event["effective_weight"]) == (True, 2)
    assert Audit.objects.get(action="tenant.throttled").data["dry_run"] is True
    assert pass_throttles() == 1
    (event,) = event_data(Kind.TENANT_THROTTLE_RELEASED)
    assert event["dry_run"] is True


@spec("MT-9.2-a")
def test_what_was_a_dry_run_becomes_a_throttle_when_that_is_chosen(settings: Any) -> None:
    choose(settings, "weight", THROTTLE_DRY_RUN=True)
    put("blue", fairness_weight=10)
    noise()
    watch()
    choose(settings, "weight", THROTTLE_DRY_RUN=False)

    watch()

    assert weights() == {2}
    assert [event.get("dry_run", False) for event in event_data(Kind.TENANT_THROTTLED)] == [
        True,
        False,
    ]


@spec("MT-9.2-c")
def test_throttle_is_not_extended_when_they_are_turned_off(settings: Any) -> None:
    choose(settings, "weight")
    put("blue", fairness_weight=10)
    noise()
    watch()
    choose(settings, "off")
    watch()

    assert weights() == {2}
    assert pass_throttles() == 1
    assert weights() == {10}


@spec("MT-9.2-c")
def test_another_action_follows_when_the_first_has_ended(settings: Any) -> None:
    choose(settings, "weight")
    put("blue", fairness_weight=10, limits={"max_concurrency": 20})
    noise()
    watch()
    choose(settings, "concurrency")
    before = Throttle.objects.get().until
    watch()
    assert Throttle.objects.get().until == before

    pass_throttles()
    watch()

    assert shown()["throttle"]["action"] == "concurrency_reduced"
    assert weights() == {10}


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.2-a")
def test_throttle_is_there_after_a_restart() -> None:
    put("blue", fairness_weight=10)
    noise()
    watch()

    clear_caches()  # as in a process that has just started

    assert shown()["effective_weight"] == 2
    backlog("blue", 1, queue="other")
    assert weights() == {2}


@spec("MT-9.2-a")
def test_factor_and_time_are_settings(settings: Any) -> None:
    choose(settings, "weight", THROTTLE_FACTOR=0.5, THROTTLE_MS=1000)
    put("blue", fairness_weight=10)
    noise()

    watch()

    assert weights() == {5}
    throttle = Throttle.objects.get()
    assert (throttle.until - throttle.since).total_seconds() == 1


@pytest.mark.usefixtures("by_weight")
@spec("MT-9.3-a")
def test_weight_that_is_put_meanwhile_is_reduced_and_given_back() -> None:
    put("blue", fairness_weight=10)
    noise()
    watch()

    found = put("blue", status=200, fairness_weight=50)

    assert (found["fairness_weight"], found["effective_weight"]) == (50, 10)
    assert found["throttle"]["original_weight"] == 50
    assert weights() == {10}
    pass_throttles()
    assert weights() == {50}


@pytest.mark.usefixtures("by_concurrency")
@spec("MT-9.3-a")
def test_limit_that_is_put_meanwhile_is_reduced_and_given_back() -> None:
    put("blue", limits={"max_concurrency": 20})
    noise()
    watch()

    answer(send("PUT", "admin/tenants/blue/limits", {"max_concurrency": 30}))

    assert Counter(fetched(50)) == {"blue": 6, "red": 2}
    answer(send("PUT", "admin/tenants/blue/limits", {"max_concurrency": None}))
    assert shown()["throttle"]["original_concurrency"] == 20
    assert fetched(50) == []
    pass_throttles()
    assert len(fetched(50)) == 50


@pytest.mark.usefixtures("by_concurrency")
@spec("MT-9.2-a")
def test_suspended_tenant_stays_so_and_is_not_throttled() -> None:
    put("blue", limits={"max_concurrency": 20})
    noise()
    set_standing("blue", Standing.SUSPENDED)
    watch()
    assert not Throttle.objects.exists()
    set_standing("blue", Standing.ACTIVE)
    watch()
    set_standing("blue", Standing.SUSPENDED)

    pass_throttles()

    assert Counter(fetched(50)) == {"red": 2}


@pytest.mark.usefixtures("by_weight")
@spec("MT-10.1-a")
def test_throttle_goes_with_its_tenant() -> None:
    put("blue", fairness_weight=10)
    noise()
    watch()

    delete("blue", force=True)

    assert weights() == {1}
    assert not Throttle.objects.exists()
    assert [event["released"] for event in event_data(Kind.TENANT_THROTTLE_RELEASED)] == ["deleted"]
    watch()
    assert not Throttle.objects.exists()
    assert not Tenant.objects.filter(id="blue").exists()


@pytest.mark.usefixtures("by_concurrency")
@spec("MT-15.3-b")
def test_default_tenant_is_throttled_as_others() -> None:
    noise("_default")
    assert Counter(fetched(42)) == {"_default": 40, "red": 2}

    look()

    assert shown("_default")["throttle"]["effective_concurrency"] == 8
