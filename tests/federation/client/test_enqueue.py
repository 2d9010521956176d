"""The regions that either client chooses. Spec: federation 1 to 3, 6; contract 23.1, 23.3."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from federation.client import (
    Failover,
    FederationConfigError,
    InvalidFederationMeta,
    NewJob,
    NoHealthyRegion,
    RegionRefused,
    RegionRequired,
    RegionUnavailable,
    Topology,
    UnexpectedAnswer,
    UnknownRegion,
)
from federation.domain.meta import (
    FEDERATION_ID,
    PREFIX,
    REGION,
    REGION_AFFINITY,
    REPLICATED_FROM,
    ROUTED_AT,
    SOURCE_REGION,
)
from jobs.domain.wire.ids import is_id
from tests.federation.conftest import Clock, Connect
from tests.federation.stub import Stub, refusal
from tests.spec import spec


def made_at(federation_id: str) -> datetime:
    """Return the time in a UUIDv7."""
    return datetime.fromtimestamp(int(federation_id.replace("-", "")[:12], 16) / 1000, UTC)


def only_job(stub: Stub) -> dict[str, Any]:
    (job,) = stub.jobs.values()
    return job


# --- what is sent ---------------------------------------------------------------------------------


@spec("FED-3-a")
def test_a_job_goes_to_the_local_region_by_default(connect: Connect, three: list[Stub]) -> None:
    result = connect(*three).enqueue("mail.send", ["a"], queue="mail", options={"priority": 3})

    job = only_job(three[0])
    assert (result.region, result.strategy, result.redirects) == ("us", "affinity", 0)
    assert (result.job_id, result.is_duplicate) == (job["id"], False)
    assert (job["type"], job["args"], job["queue"], job["priority"]) == (
        "mail.send", ["a"], "mail", 3,
    )  # fmt: skip
    assert [stub.enqueues for stub in three] == [1, 0, 0]


@spec("FED-6.2-a")
def test_keys_of_meta_have_the_prefix_and_the_callers_stay(
    connect: Connect, three: list[Stub]
) -> None:
    connect(*three).enqueue("t", meta={"mine": 1, SOURCE_REGION: "elsewhere"})

    meta = only_job(three[0])["meta"]
    assert meta.pop("mine") == 1
    assert meta.pop(SOURCE_REGION) == "elsewhere", "never overwritten"
    assert set(meta) == {FEDERATION_ID, ROUTED_AT}
    assert all(key.startswith(PREFIX) for key in meta)


@pytest.mark.parametrize("topology", [Topology.ACTIVE_ACTIVE, Topology.MESH])
@spec("FED-2.3-a")
def test_and_6_3_a_every_job_has_a_federation_id_of_its_time(
    connect: Connect, three: list[Stub], topology: Topology
) -> None:
    result = connect(*three, topology=topology).enqueue("t")

    (sent,) = three[0].federation_ids()
    assert sent == result.federation_id
    assert is_id(sent)
    assert abs((made_at(sent) - datetime.now(UTC)).total_seconds()) < 60


def test_a_federation_id_of_the_caller_is_sent_and_asks_for_deduplication(
    connect: Connect, three: list[Stub]
) -> None:
    client = connect(*three)
    first = client.enqueue("t")

    again = client.enqueue("t", federation_id=first.federation_id)

    assert again.is_duplicate
    assert (again.job_id, again.federation_id) == (first.job_id, first.federation_id)
    assert len(three[0].jobs) == 1


@pytest.mark.parametrize(
    ("meta", "key"),
    [
        ({REPLICATED_FROM: "eu"}, REPLICATED_FROM),
        ({FEDERATION_ID: "01912e4a-7b3c-4def-8a12-abcdef123456"}, FEDERATION_ID),
        ({REGION_AFFINITY: "by-mood"}, REGION_AFFINITY),
        ({REGION_AFFINITY: "weighted"}, REGION_AFFINITY),
        ({REGION: "EU"}, REGION),
    ],
)
@spec("FED-6.3-d")
def test_what_a_client_must_not_say_is_refused_before_anything_is_sent(
    connect: Connect, three: list[Stub], meta: dict[str, Any], key: str
) -> None:
    with pytest.raises(InvalidFederationMeta) as refused:
        connect(*three).enqueue("t", meta=meta)

    assert refused.value.details["field"] == f"meta.{key}"
    assert [stub.requests for stub in three] == [0, 0, 0]


def test_a_key_that_is_given_twice_differently_is_refused(
    connect: Connect, three: list[Stub]
) -> None:
    with pytest.raises(InvalidFederationMeta, match="two different values"):
        connect(*three).enqueue("t", region="eu", meta={REGION: "us"})


# --- affinity -------------------------------------------------------------------------------------


@spec("FED-3.1-a")
def test_local_health_is_asked_before_the_first_job(connect: Connect, three: list[Stub]) -> None:
    client = connect(*three)

    client.enqueue("t")
    client.enqueue("t")

    assert [path for path, _, _ in three[0].sent] == [
        "/ojs/v1/health", "/ojs/v1/jobs", "/ojs/v1/jobs",
    ]  # fmt: skip
    assert three[1].requests == three[2].requests == 0


@spec("FED-1.1-c")
def test_jobs_go_elsewhere_while_the_local_region_is_ill(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].stop()

    result = connect(*three).enqueue("t")

    assert result.region in {"eu", "ap"}


@spec("FED-3.1-b")
def test_the_configured_order_is_kept(connect: Connect, three: list[Stub]) -> None:
    three[0].health = (503, {"status": "degraded"})

    result = connect(*three, failover=Failover(prefer_regions=("ap", "eu"))).enqueue("t")

    assert result.region == "ap"


@spec("FED-4.4-a")
def test_the_nearest_is_preferred(connect: Connect, three: list[Stub], clock: Clock) -> None:
    """Latencies come from the clock of the transport, so the test sets the states directly."""
    three[0].health = (503, {"status": "degraded"})
    client = connect(*three)
    client.probe()
    state = getattr(client, "_client", client)._state
    state._entries["eu"].latency_ms, state._entries["ap"].latency_ms = 80.0, 5.0

    assert client.enqueue("t").region == "ap"
    assert [one.latency_ms for one in client.regions()] == [None, 80, 5]


def test_a_full_local_region_is_passed_over(connect: Connect, three: list[Stub]) -> None:
    three[0].stats = (200, {"jobs": {"available": 5, "active": 0}})
    client = connect(three[0].region(max_queue_depth=5), three[1])

    assert client.enqueue("t").region == "eu"

    three[1].health = (503, {})
    three[0].stats = (200, {"jobs": {"available": 9, "active": 0}})
    assert connect(three[0].region(max_queue_depth=5), three[1]).enqueue("t").region == "us"


# --- overflow -------------------------------------------------------------------------------------


@spec("FED-3.2")
def test_overflow_goes_to_the_least_loaded(connect: Connect, three: list[Stub]) -> None:
    for stub, available, active in zip(three, (9, 1, 4), (0, 4, 0), strict=True):
        stub.stats = (200, {"jobs": {"available": available, "active": active}})

    result = connect(*three).enqueue("t", strategy="overflow")

    assert (result.region, result.strategy) == ("ap", "overflow")


def test_a_weight_divides_the_load_and_none_is_never_chosen(
    connect: Connect, three: list[Stub]
) -> None:
    for stub, available in zip(three, (9, 20, 0), strict=True):
        stub.stats = (200, {"jobs": {"available": available, "active": 0}})
    client = connect(three[0], three[1].region(weight=4), three[2].region(weight=0))

    assert client.enqueue("t", strategy="overflow").region == "eu"
    assert client.enqueue("t", region="ap").region == "ap", "it may be pinned"


@spec("FED-3.2")
def test_jobs_of_one_interval_do_not_all_go_to_one_region(
    connect: Connect, three: list[Stub], clock: Clock
) -> None:
    for stub, available in zip(three, (2, 0, 5), strict=True):
        stub.stats = (200, {"jobs": {"available": available, "active": 0}})
    client = connect(*three, load_interval_seconds=10)

    jobs = [NewJob("t", strategy="overflow") for _ in range(11)]
    first = Counter(one.region for one in client.enqueue_batch(jobs).enqueued)
    assert first == {"us": 4, "eu": 6, "ap": 1}, "six for each"

    clock.pass_time(10)
    assert client.enqueue("t", strategy="overflow").region == "eu", "counted anew"


def test_loads_are_counted_by_queue_where_the_total_is_not_for_us(
    connect: Connect, three: list[Stub]
) -> None:
    us, eu, _ = three
    us.stats = (200, {"jobs": {"available": 4, "active": 0}})
    eu.stats = (403, {"error": {"code": "permission_denied"}})
    eu.queues = {"a": {"available": 1, "active": 0}, "b": {"available": 1, "active": 1}}
    client = connect(us, eu)

    assert client.enqueue("t", strategy="overflow").region == "eu"
    assert [(one.available, one.active) for one in client.regions()] == [(4, 0), (2, 1)]


@spec("FED-3.2-c")
def test_an_open_breaker_is_never_chosen(connect: Connect, three: list[Stub], clock: Clock) -> None:
    three[1].health = (500, "")
    for stub, available in zip(three, (9, 0, 9), strict=True):
        stub.stats = (200, {"jobs": {"available": available, "active": 0}})
    client = connect(*three)
    for _ in range(5):
        client.probe()
        clock.pass_time(10)
    before = three[1].requests

    for _ in range(3):
        assert client.enqueue("t", strategy="overflow").region != "eu"

    assert client.regions()[1].circuit_breaker == "open"
    assert three[1].requests == before


# --- geo-pin --------------------------------------------------------------------------------------


@spec("FED-3.3-a")
def test_and_7_2_a_a_pinned_job_is_refused_rather_than_moved(
    connect: Connect, three: list[Stub]
) -> None:
    three[1].health = (503, {"status": "degraded"})

    with pytest.raises(RegionUnavailable) as refused:
        connect(*three).enqueue("t", region="eu")

    assert three[0].requests == three[2].requests == 0
    assert (refused.value.status, refused.value.retryable) == (503, True)
    assert int(refused.value.headers["Retry-After"]) >= 1


@pytest.mark.parametrize("status", [503, 500, 429])
@spec("FED-7.2-a")
def test_a_pinned_job_stays_nowhere_when_its_region_fails_at_the_last_moment(
    connect: Connect, three: list[Stub], status: int
) -> None:
    three[1].answers = [refusal(status), refusal(status)]

    with pytest.raises(RegionUnavailable, match=str(status)):
        connect(*three).enqueue("t", region="eu")

    assert three[0].requests == three[2].requests == 0


@spec("FED-3.3-b")
def test_an_unknown_region_is_refused(connect: Connect, three: list[Stub]) -> None:
    with pytest.raises(UnknownRegion) as refused:
        connect(*three).enqueue("t", region="mars")

    assert (refused.value.code, refused.value.status) == ("federation_unknown_region", 422)


@pytest.mark.parametrize("member", [{"enabled": False}, {"drain": True}])
@spec("FED-3.3-c")
def test_a_region_that_takes_nothing_is_temporarily_unavailable(
    connect: Connect, three: list[Stub], member: dict[str, bool]
) -> None:
    with pytest.raises(RegionUnavailable, match="temporarily unavailable"):
        connect(three[0], three[1].region(**member)).enqueue("t", region="eu")

    assert three[1].requests == 0


@pytest.mark.parametrize("affinity", ["overflow", "affinity", "by-mood", "geo-pin"])
@spec("FED-6.3-b")
def test_a_region_pins_whatever_the_affinity_says(
    connect: Connect, three: list[Stub], affinity: str
) -> None:
    result = connect(*three).enqueue("t", region="ap", strategy=affinity)

    assert (result.region, result.strategy) == ("ap", "geo-pin")


def test_a_pin_to_nowhere_is_refused(connect: Connect, three: list[Stub]) -> None:
    with pytest.raises(RegionRequired):
        connect(*three).enqueue("t", strategy="geo-pin")


# --- topologies -----------------------------------------------------------------------------------


def spoke(connect: Connect, three: list[Stub], **members: Any) -> Any:
    """Return a client in the spoke us; eu is the hub."""
    us, eu, ap = three
    return connect(us, eu.region(is_hub=True), ap, topology=Topology.HUB_SPOKE, **members)


@spec("FED-2-a")
def test_a_spoke_sends_beyond_the_hub_through_it(connect: Connect, three: list[Stub]) -> None:
    three[1].hub_target = "ap"

    result = spoke(connect, three).enqueue("t", region="ap")

    assert result.region == "ap"
    assert three[1].asked["POST /ojs/v1/federation/jobs"] == 1
    assert three[2].enqueues == 0


@spec("FED-2-a")
def test_a_spoke_sends_to_the_hub_itself_as_to_any_server(
    connect: Connect, three: list[Stub]
) -> None:
    assert spoke(connect, three).enqueue("t", region="eu").region == "eu"
    assert three[1].asked["POST /ojs/v1/jobs"] == 1


@pytest.mark.parametrize("strategy", ["overflow", "affinity"])
@spec("FED-2.1-c")
def test_while_the_hub_is_down_a_spoke_tries_no_other_region(
    connect: Connect, three: list[Stub], strategy: str
) -> None:
    three[1].health = (503, {"status": "degraded"})
    client = spoke(connect, three)

    assert client.enqueue("t", strategy=strategy).region == "us"
    three[0].answers = [refusal(503)]
    with pytest.raises(NoHealthyRegion, match="the hub is unavailable"):
        client.enqueue("t", strategy=strategy)
    with pytest.raises(RegionUnavailable, match="the hub is unavailable"):
        client.enqueue("t", region="ap")

    assert three[2].requests == 0
    assert three[1].enqueues == 0


@pytest.mark.parametrize("hubs", [(), ("us", "eu")])
@spec("FED-2.1-a")
def test_hub_spoke_has_exactly_one_hub(
    connect: Connect, three: list[Stub], hubs: tuple[str, ...]
) -> None:
    regions = [stub.region(is_hub=stub.id in hubs) for stub in three]

    with pytest.raises(FederationConfigError, match="exactly one hub"):
        connect(*regions, topology=Topology.HUB_SPOKE)


@spec("FED-2.2-b")
def test_each_router_decides_by_its_own_view(connect: Connect, three: list[Stub]) -> None:
    us, eu, ap = three
    ours, theirs = connect(us, eu, ap), connect(eu.region(), us.region(), ap.region())
    us.health = (503, {"status": "degraded"})
    assert ours.enqueue("t").region != "us"
    us.health = (200, {"status": "ok"})

    assert theirs.enqueue("t", region="us").region == "us"
    assert ours.regions()[0].status == "unhealthy"


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422])
def test_an_answer_4xx_is_the_callers_and_no_failover(
    connect: Connect, three: list[Stub], status: int
) -> None:
    three[0].answers = [refusal(status, "whatever")]

    with pytest.raises(RegionRefused) as refused:
        connect(*three).enqueue("t")

    assert (refused.value.status, refused.value.code, refused.value.region) == (
        status, "whatever", "us",
    )  # fmt: skip
    assert [stub.enqueues for stub in three] == [1, 0, 0]


def test_a_success_without_a_job_is_told(connect: Connect, three: list[Stub]) -> None:
    three[0].answers = [(201, "hello", {})]

    with pytest.raises(UnexpectedAnswer, match="'us' answered HTTP 201"):
        connect(*three).enqueue("t")


@spec("FED-8-a")
def test_a_flat_job_of_a_foreign_server_is_read(connect: Connect, three: list[Stub]) -> None:
    three[0].answers = [(201, {"id": "anything", "type": "t"}, {})]

    assert connect(*three).enqueue("t").job_id == "anything"


@spec("federation 3")
def test_nowhere_healthy_is_an_error_that_tells_of_each(
    connect: Connect, three: list[Stub]
) -> None:
    for stub in three:
        stub.health = (503, {"status": "degraded"})

    with pytest.raises(NoHealthyRegion) as refused:
        connect(*three).enqueue("t")

    assert [one["id"] for one in refused.value.details["regions"]] == ["us", "eu", "ap"]
    assert refused.value.status == 503


# --- dry run --------------------------------------------------------------------------------------


@spec("FED-1.1-b")
def test_a_dry_run_names_strategy_and_reason(connect: Connect, three: list[Stub]) -> None:
    client = connect(*three)
    client.probe()

    decision = client.route({REGION_AFFINITY: "affinity"})

    assert (decision.strategy, decision.target.id, decision.target.reason) == (
        "affinity", "us", "local",
    )  # fmt: skip
    assert [one.score for one in decision.candidates] == sorted(
        (one.score for one in decision.candidates), reverse=True
    )
    assert sum(stub.enqueues for stub in three) == 0


@spec("FED-6.3-c")
def test_without_affinity_it_is_affinity(connect: Connect, three: list[Stub]) -> None:
    assert connect(*three).route({}).strategy == "affinity"
    assert connect(*three, default_strategy="overflow").route().strategy == "overflow"
