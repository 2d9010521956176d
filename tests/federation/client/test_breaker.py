"""Health and breakers of the clients. Spec: federation 4; contract 23.4."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import pytest

from federation.client import (
    AsyncFederatedClient,
    CircuitBreaker,
    FederationConfig,
    HealthCheck,
    RegionUnavailable,
    operations,
)
from federation.domain.reasons import Reason
from tests.federation.conftest import Clock, Connect
from tests.federation.loop import run
from tests.federation.stub import HEALTHY, Stub
from tests.processes import until
from tests.spec import spec

ILL = (503, {"status": "degraded"})


def states(client: Any) -> dict[str, tuple[str, str]]:
    """Return status and breaker of each region."""
    return {one.id: (one.status, one.circuit_breaker) for one in client.regions()}


def fail(client: Any, clock: Clock, times: int) -> None:
    """Let probes come due and fail, this number of times."""
    for _ in range(times):
        clock.pass_time(10)
        client.probe()


@spec("FED-4.3-b")
def test_it_opens_with_the_fifth_failure_in_a_row(
    connect: Connect, three: list[Stub], clock: Clock
) -> None:
    three[1].health = ILL
    client = connect(*three)

    fail(client, clock, 4)
    assert states(client)["eu"] == ("unhealthy", "closed")
    fail(client, clock, 1)
    assert states(client)["eu"] == ("unhealthy", "open")


@spec("FED-4.3-b")
def test_a_success_between_starts_the_count_again(
    connect: Connect, three: list[Stub], clock: Clock
) -> None:
    client = connect(*three)
    three[1].health = ILL
    fail(client, clock, 4)
    three[1].health = HEALTHY
    fail(client, clock, 1)
    three[1].health = ILL
    fail(client, clock, 4)

    assert states(client)["eu"] == ("unhealthy", "closed")


@spec("FED-4.3-b")
def test_failed_requests_count_too(connect: Connect, three: list[Stub]) -> None:
    client = connect(*three, circuit_breaker=CircuitBreaker(failure_threshold=2))
    client.probe()
    three[0].loses = ["request", "request"]

    client.enqueue("t")

    assert states(client)["us"] == ("healthy", "open")


def test_429_is_no_failure(connect: Connect, three: list[Stub]) -> None:
    client = connect(*three, circuit_breaker=CircuitBreaker(failure_threshold=1))
    client.probe()
    three[0].answers = [(429, {}, {})]

    client.enqueue("t")

    assert states(client)["us"] == ("healthy", "closed")


@spec("FED-4.3-c")
def test_and_d_open_sends_nothing_until_the_cooldown_is_over(
    connect: Connect, three: list[Stub], clock: Clock
) -> None:
    client = connect(*three)
    three[1].health = ILL
    fail(client, clock, 5)
    before = three[1].requests

    clock.pass_time(29.9)
    client.probe()
    with pytest.raises(RegionUnavailable, match="circuit breaker open") as refused:
        client.enqueue("t", region="eu")
    assert three[1].requests == before
    assert refused.value.headers == {"Retry-After": "1"}, "what is left of the cooldown"

    clock.pass_time(0.1)
    assert states(client)["eu"] == ("unhealthy", "half-open")
    client.probe()
    assert three[1].requests == before + 1
    assert states(client)["eu"] == ("unhealthy", "open"), "the cooldown starts again"


@spec("FED-4.3-a")
def test_a_probe_that_succeeds_closes_it(connect: Connect, three: list[Stub], clock: Clock) -> None:
    heard: list[str] = []
    client = connect(*three, on_event=lambda name, facts: heard.append(f"{name} {facts['region']}"))
    client.probe()
    three[1].health = ILL
    fail(client, clock, 5)
    three[1].health = HEALTHY
    clock.pass_time(30)

    assert client.enqueue("t", region="eu").region == "eu", "the first request probes"
    assert states(client)["eu"] == ("healthy", "closed")
    assert heard == [
        "federation.region_unhealthy eu", "federation.circuit_opened eu",
        "federation.circuit_closed eu", "federation.region_healthy eu",
    ]  # fmt: skip


@spec("FED-4.3-d")
def test_half_open_lets_one_of_20_concurrent_calls_through(
    connect: Connect, three: list[Stub], clock: Clock
) -> None:
    eu = three[1]
    client = connect(*three)
    eu.health = ILL
    fail(client, clock, 5)
    clock.pass_time(30)
    before = eu.requests
    eu.is_held.clear()

    with ThreadPoolExecutor(20) as callers:
        calls = [callers.submit(client.enqueue, "t", region="eu") for _ in range(20)]
        until(lambda: sum(call.done() for call in calls) == 19, "19 refusals")
        assert eu.requests == before + 1
        eu.is_held.set()
        refusals = [call.exception() for call in calls]

    assert all(isinstance(one, RegionUnavailable) for one in refusals)
    assert eu.requests == before + 1


@pytest.mark.parametrize(
    "health",
    [
        (200, {"status": "degraded"}),
        (200, {"status": "healthy"}),
        (200, "up"),
        (200, ["ok"]),
        (500, {"status": "ok"}),
        (204, ""),
        (302, {"status": "ok"}),
    ],
)
@spec("FED-4.2-b")
def test_anything_but_200_and_ok_is_unhealthy(
    connect: Connect, three: list[Stub], health: tuple[int, Any]
) -> None:
    three[1].health = health
    client = connect(*three)

    client.probe()

    assert states(client)["eu"] == ("unhealthy", "closed")
    assert client.regions()[1].last_error


@spec("FED-4.2-b")
def test_a_timeout_is_unhealthy(connect: Connect, three: list[Stub]) -> None:
    three[1].is_held.clear()
    client = connect(*three, health_check=HealthCheck(timeout_seconds=0.2))

    client.probe()

    assert states(client)["eu"] == ("unhealthy", "closed")
    assert client.regions()[1].last_error == Reason.TOO_LATE


def test_healthy_of_foreign_servers_counts_when_asked_for(
    connect: Connect, three: list[Stub]
) -> None:
    three[1].health = (200, {"status": "healthy"})
    client = connect(*three, accept_healthy=True)

    client.probe()

    assert states(client)["eu"] == ("healthy", "closed")


@spec("FED-2.2-a")
def test_and_4_2_a_each_region_is_probed_at_the_interval(
    connect: Connect, three: list[Stub], clock: Clock
) -> None:
    client = connect(*three)
    for _ in range(3):
        client.probe()
        client.probe()
        clock.pass_time(10)

    assert [stub.probes for stub in three] == [3, 3, 3]
    assert states(client) == dict.fromkeys(("us", "eu", "ap"), ("healthy", "closed"))
    assert all(one.last_health_check for one in client.regions())
    assert client.health().status == "healthy"


@spec("FED-4.4-b")
def test_latency_is_measured_by_probes(connect: Connect, three: list[Stub]) -> None:
    client = connect(*three)
    assert [one.latency_ms for one in client.regions()] == [None, None, None]

    client.probe()

    assert all(isinstance(one.latency_ms, int) for one in client.regions())


def test_health_sums_up(connect: Connect, three: list[Stub], clock: Clock) -> None:
    client = connect(*three)
    assert client.health().status == "unhealthy", "nobody was asked"
    three[1].health = ILL
    client.probe()
    assert (client.health().status, client.health().healthy_regions) == ("degraded", 2)


def test_disabled_regions_are_not_asked(connect: Connect, three: list[Stub]) -> None:
    client = connect(three[0], three[1].region(enabled=False))

    client.probe()

    assert three[1].requests == 0


# --- in the background ----------------------------------------------------------------------------


@spec("FED-3.2-a")
def test_started_clients_probe_and_collect_by_themselves(
    stubs: Callable[..., list[Stub]], connect: Connect
) -> None:
    us, eu = stubs("us", "eu")
    client = connect(us, eu, load_interval_seconds=0.02, clock=monotonic)

    with client:
        until(lambda: eu.asked["GET /ojs/v1/admin/stats"] >= 2, "polls of the load")
        eu.stats = (200, {"jobs": {"available": 7, "active": 1}})
        assert eu.probes >= 1
    after = eu.requests

    assert threading.active_count() < 60
    assert eu.requests == after, "nothing is asked after the end"


def test_a_started_client_lets_no_job_wait_for_a_probe(
    stubs: Callable[..., list[Stub]], connect: Connect, clock: Clock
) -> None:
    (us,) = stubs("us")

    with connect(us) as client:
        clock.pass_time(11)  # older than the interval, as while a probe is in progress
        before = us.probes
        client.enqueue("t")
        sent = [path for path, _, _ in us.sent[before:]]

    assert "/ojs/v1/jobs" in sent


def test_a_client_can_be_closed_twice_and_started_once(
    stubs: Callable[..., list[Stub]], connect: Connect
) -> None:
    client = connect(*stubs("us"))
    client.start()
    client.start()

    client.close()
    client.close()

    assert client.regions()[0].status == "healthy"


def test_who_is_interrupted_gives_the_one_place_of_a_half_open_breaker_back(
    stubs: Callable[..., list[Stub]], clock: Clock
) -> None:
    (eu,) = stubs("eu")
    config = FederationConfig("eu", (eu.region(),))

    async def interrupt() -> str:
        async with AsyncFederatedClient(config, clock=clock) as client:
            eu.health = ILL
            for _ in range(5):
                clock.pass_time(10)
                await client.probe()
            clock.pass_time(30)
            eu.health = HEALTHY
            eu.is_held.clear()
            probe = asyncio.create_task(client.probe())
            before = eu.probes
            while eu.probes == before:
                await asyncio.sleep(0.01)
            probe.cancel()
            await asyncio.gather(probe, return_exceptions=True)
            eu.is_held.set()
            return (await client.enqueue("t", region="eu")).region

    assert run(interrupt()) == "eu"


def test_a_loop_that_fails_goes_on(
    stubs: Callable[..., list[Stub]], connect: Connect, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    (us,) = stubs("us")
    client = connect(us, load_interval_seconds=0.02, clock=monotonic)
    client.start()
    collect, failures = operations.collect, list[int]()

    def fail_once(state: Any) -> Any:
        if not failures:
            failures.append(1)
            raise RuntimeError("once")
        return collect(state)

    monkeypatch.setattr(operations, "collect", fail_once)
    before = us.asked["GET /ojs/v1/admin/stats"]

    until(lambda: us.asked["GET /ojs/v1/admin/stats"] > before + 1, "more polls")
    client.close()

    assert [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == [
        "ojs.federation.loop_failed"
    ]
