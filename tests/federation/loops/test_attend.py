"""The loops that probe regions and count their jobs. Spec: federation 3.2, 4.2."""

from collections.abc import Callable
from typing import Any

import pytest

from federation.domain.reasons import Reason
from federation.models import RegionHealth, RegionLoad
from federation.services.health.attend import Attendant, Counter, Prober
from federation.services.registry.configure import put_region
from jobs.loops import all_loops
from jobs.services.record.aggregate import aggregate_events
from tests.concurrency import until
from tests.factories import stored
from tests.federation.stub import Stub
from tests.federation.wire import answer, federate, pass_time, send
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

Stubs = Callable[..., list[Stub]]


def run_until_idle(attendant: Attendant) -> None:
    """Run the loop until no call is in progress."""

    def is_idle() -> bool:
        attendant.run_once()
        return not attendant._busy

    until(is_idle)


def health(region: str) -> RegionHealth:
    return RegionHealth.objects.get(region=region)


@spec("FED-4.2-a")
def test_regions_are_probed_once_an_interval(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    prober = Prober()

    run_until_idle(prober)
    run_until_idle(prober)
    assert (eu.probes, health("eu").status) == (1, "healthy")
    assert health("us").checked_at is not None

    pass_time("eu", 10.1)
    run_until_idle(prober)
    assert eu.probes == 2


@spec("FED-4.2-a")
def test_interval_is_configurable(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu, health_check={"interval_seconds": 100})
    prober = Prober()
    run_until_idle(prober)

    pass_time("eu", 90)
    run_until_idle(prober)

    assert eu.probes == 1


@spec("FED-4.3-b")
def test_and_4_3_d_dead_region_opens_after_five_probes_and_is_left_alone(
    stubs: Stubs,
) -> None:
    (eu,) = stubs("eu")
    eu.health = (500, {})
    federate(eu)
    prober = Prober()

    for failures in range(1, 6):
        assert health("eu").breaker == "closed"
        run_until_idle(prober)
        assert health("eu").failures == failures
        pass_time("eu", 11)
    assert (health("eu").breaker, health("eu").status) == ("open", "unhealthy")
    run_until_idle(prober)
    assert eu.probes == 5

    pass_time("eu", 20)
    run_until_idle(prober)
    assert (eu.probes, health("eu").breaker) == (6, "open")


def test_region_that_is_back_heals_by_one_probe(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu, circuit_breaker={"failure_threshold": 1})
    eu.stop()
    prober = Prober()
    run_until_idle(prober)
    assert health("eu").breaker == "open"
    eu.start()

    pass_time("eu", 31)
    run_until_idle(prober)

    assert (health("eu").breaker, health("eu").status) == ("closed", "healthy")


def test_slow_region_holds_nobody_up(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap)
    eu.is_held.clear()
    prober = Prober()

    def is_ap_known() -> bool:
        prober.run_once()
        return health("ap").status == "healthy"

    until(is_ap_known)
    assert health("eu").status == "unknown"
    until(lambda: eu.probes == 1)
    eu.is_held.set()
    run_until_idle(prober)
    assert health("eu").status == "healthy"


def test_disabled_region_is_not_probed(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    put_region(eu.region(enabled=False))

    run_until_idle(Prober())

    assert eu.requests == 0


@spec("FED-3.2-a")
def test_load_of_healthy_regions_is_collected_every_interval(stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    eu.stats = (200, {"jobs": {"available": 7, "active": 2}})
    ap.health = (503, {})
    federate(eu, ap)
    stored(2)
    aggregate_events()
    run_until_idle(Prober())
    RegionHealth.objects.filter(region="us").update(status="healthy")
    counter = Counter()

    run_until_idle(counter)
    run_until_idle(counter)

    found = {one.region_id: (one.available, one.active) for one in RegionLoad.objects.all()}
    assert found == {"eu": (7, 2), "us": (2, 0)}
    assert eu.asked["GET /ojs/v1/admin/stats"] == 1
    assert ap.asked["GET /ojs/v1/admin/stats"] == 0


@pytest.mark.parametrize(
    "stats", [(403, {}), (200, {}), (200, {"jobs": {"available": "many", "active": 0}}), (200, "x")]
)
def test_region_that_does_not_tell_its_load_has_none(stubs: Stubs, stats: Any) -> None:
    (eu,) = stubs("eu")
    eu.stats = stats
    federate(eu)
    run_until_idle(Prober())

    run_until_idle(Counter())

    assert not RegionLoad.objects.filter(region="eu").exists()
    assert str(health("eu").last_error).startswith("load: ")
    assert health("eu").breaker == "closed"


def test_loops_of_a_server_without_a_federation_do_nothing() -> None:
    assert Prober().run_once() == 0
    assert Counter().run_once() == 0
    assert {"federation_probe", "federation_load"} <= {loop.name for loop in all_loops()}


@spec("FED-2.2-b")
def test_routers_go_by_their_own_view(stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    eu.stop()
    run_until_idle(Prober())

    shown = answer(send("GET", "federation/regions"))["regions"]

    assert {one["id"]: one["status"] for one in shown}["eu"] == "unhealthy"


def test_call_that_fails_in_a_way_nobody_foresaw_is_a_failure_of_its_region(
    stubs: Stubs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise the region would seem busy and would never be asked again."""
    (eu,) = stubs("eu")
    federate(eu)
    prober = Prober()

    def fail(*_arguments: object) -> None:
        raise ValueError("a fault")

    with monkeypatch.context() as patched:
        patched.setattr("federation.transport.Transport.send", fail)
        run_until_idle(prober)
    assert (health("eu").status, health("eu").last_error) == ("unhealthy", Reason.FAULT)
    assert "federation.call_failed" in caplog.text
    pass_time("eu", 11)
    run_until_idle(prober)

    assert health("eu").status == "healthy"
