"""Routing decisions, which depend only on configuration and snapshot.

Spec: federation 3; contract 23.3.
"""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.domain.breaker import State
from federation.domain.config import Extra, Failover, FederationConfig, Topology
from federation.domain.delivery import Delivery, Fate, Report, answered
from federation.domain.errors import InvalidFederationMeta, UnknownRegion
from federation.domain.health import Health, Load, Status
from federation.domain.meta import GEO_PIN, FederationMeta, new_federation_id, read_meta
from federation.domain.region import Region
from federation.domain.routing import Decision, Snapshot, decide
from jobs.domain.errors import OJSError

IDS = ("eu-north", "eu-west", "us-east", "us-west")
WELL = {id: Health(Status.HEALTHY, latency_ms=10.0 * n) for n, id in enumerate(IDS, 1)}  # noqa: A001


def config(**members: Any) -> FederationConfig:
    """Return a configuration of four regions; us-east is the local one."""
    regions = tuple(Region(one, f"https://{one}.example") for one in IDS)
    return FederationConfig(**{"local_region": "us-east", "regions": regions, **members})


def ranked(decision: Decision) -> list[str]:
    """Return the ids of the candidates in order."""
    return [one.id for one in decision.candidates]


def extended(strategy: str, **members: Any) -> list[str]:
    """Decide by an extra strategy; `decisions` sets their number in the snapshot."""
    decisions = members.pop("decisions", 0)
    job = FederationMeta(affinity=strategy, federation_id=members.pop("id", new_federation_id()))
    rules = config(extended_strategies=True, **members)
    return ranked(decide(rules, Snapshot(WELL, {}, decisions=decisions), job))


def test_affinity_ranks_local_then_preferred_then_nearest() -> None:
    rules = config(failover=Failover(prefer_regions=("us-west",)))

    decision = decide(rules, Snapshot(WELL, {}), FederationMeta())

    assert ranked(decision) == ["us-east", "us-west", "eu-north", "eu-west"]
    assert [one.score for one in decision.candidates] == [1, 0.75, 0.5, 0.25]


def test_overflow_ranks_stale_loads_last_and_breaks_ties_by_latency() -> None:
    loads = {
        "us-west": Load(1, 1, at=100),
        "eu-west": Load(2, 0, at=100),
        "eu-north": Load(0, 0, at=0),
    }

    decision = decide(config(), Snapshot(WELL, loads, now=100), FederationMeta(affinity="overflow"))

    assert ranked(decision) == ["eu-west", "us-west", "eu-north", "us-east"]


def test_round_robin_goes_through_all() -> None:
    assert [extended("round-robin", decisions=n)[0] for n in range(4)] == list(IDS)


def test_latency_based_takes_the_nearest() -> None:
    assert extended("latency-based") == list(IDS)


def test_active_passive_keeps_to_the_first() -> None:
    assert extended("active-passive") == list(IDS)
    assert (
        extended("active-passive", failover=Failover(prefer_regions=("us-west",)))[0] == "us-west"
    )


def test_geographic_stays_in_the_area() -> None:
    assert extended("geographic") == ["us-east", "us-west", "eu-north", "eu-west"]
    tagged = tuple(
        Region(one, f"https://{one}.example", tags=("geo:x",) if one != "us-west" else ())
        for one in IDS
    )
    assert extended("geographic", regions=tagged)[-1] == "us-west"


def test_weighted_draws_by_weight_and_the_same_for_one_job() -> None:
    rules = config(extended_strategies=True)
    weights = {"eu-north": 60.0, "eu-west": 30.0, "us-east": 10.0, "us-west": 0.0}
    jobs = [
        FederationMeta(new_federation_id(), affinity="weighted", weights=weights)
        for _ in range(2000)
    ]

    first = Counter(decide(rules, Snapshot(WELL, {}), job).target.id for job in jobs)

    assert first["us-west"] == 0
    assert 1050 < first["eu-north"] < 1350
    assert 450 < first["eu-west"] < 750
    again = decide(rules, Snapshot(WELL, {}, decisions=7), jobs[0])
    assert again == decide(rules, Snapshot(WELL, {}, decisions=8), jobs[0])


def test_extras_are_refused_unless_allowed() -> None:
    for strategy in Extra:
        with pytest.raises(InvalidFederationMeta):
            decide(config(), Snapshot(WELL, {}), FederationMeta(affinity=strategy))
        assert extended(strategy)


def test_tags_filter_and_unknown_ones_are_refused() -> None:
    regions = tuple(
        Region(one, f"https://{one}.example", tags=("gpu",) if one.startswith("eu") else ())
        for one in IDS
    )
    rules = config(regions=regions)

    decision = decide(rules, Snapshot(WELL, {}), FederationMeta(tags=("gpu",)))

    assert ranked(decision) == ["eu-north", "eu-west"]
    assert [(one.id, one.reason) for one in decision.passed_over] == [
        ("us-east", "lacks the tags of the job"), ("us-west", "lacks the tags of the job"),
    ]  # fmt: skip
    with pytest.raises(InvalidFederationMeta, match="some region has"):
        decide(rules, Snapshot(WELL, {}), FederationMeta(tags=("fpga",)))
    with pytest.raises(InvalidFederationMeta, match="pinned region has"):
        decide(rules, Snapshot(WELL, {}), FederationMeta(region="us-west", tags=("gpu",)))


# --- any state ------------------------------------------------------------------------------------

HEALTHS = st.builds(
    Health,
    status=st.sampled_from(Status),
    breaker=st.sampled_from(State),
    is_probed=st.booleans(),
    latency_ms=st.none() | st.floats(0, 500),
)
LOADS = st.builds(Load, st.integers(0, 9), st.integers(0, 9), st.floats(0, 100))
SNAPSHOTS = st.builds(
    Snapshot,
    st.dictionaries(st.sampled_from(IDS), HEALTHS),
    st.dictionaries(st.sampled_from(IDS), LOADS),
    now=st.floats(0, 200), decisions=st.integers(0, 50),
)  # fmt: skip
METAS = st.builds(
    FederationMeta,
    federation_id=st.just("01912e4a-7b3c-7def-8a12-abcdef123456"),
    region=st.none() | st.sampled_from([*IDS, "mars"]),
    affinity=st.none() | st.sampled_from(["affinity", "overflow", *Extra]),
    tags=st.sampled_from([(), ("a",)]),
)


@st.composite
def configs(draw: st.DrawFn) -> FederationConfig:
    """Draw any valid configuration of the four regions."""
    topology = draw(st.sampled_from(Topology))
    hub = draw(st.sampled_from(IDS))
    regions = tuple(
        Region(
            one, f"https://{one}.example", weight=draw(st.integers(0, 2)),
            tags=draw(st.sampled_from([(), ("a",)])), is_hub=one == hub,
            enabled=draw(st.booleans()), drain=draw(st.booleans()),
            max_queue_depth=draw(st.none() | st.integers(0, 5)),
        )
        for one in IDS
    )  # fmt: skip
    excluded = draw(st.sampled_from([(), ("eu-west",)]))
    failover = Failover(exclude_regions=excluded, max_redirects=draw(st.integers(0, 3)))
    return config(topology=topology, regions=regions, failover=failover, extended_strategies=True)


@given(rules=configs(), snapshot=SNAPSHOTS, job=METAS)
def test_whatever_is_known_a_decision_keeps_the_rules(
    rules: FederationConfig, snapshot: Snapshot, job: FederationMeta
) -> None:
    try:
        decision = decide(rules, snapshot, job)
    except (UnknownRegion, InvalidFederationMeta):
        assert job.region == "mars" or job.tags
        return

    assert bool(decision.candidates) + bool(decision.probe) + bool(decision.refusal) == 1
    assert len(set(ranked(decision))) == len(decision.candidates)
    for one in decision.candidates:
        region, health = rules.region(one.id), snapshot.health[one.id]
        assert region is not None
        assert region.enabled
        assert not region.drain
        assert health.status is Status.HEALTHY
        assert health.is_admitting, "an open breaker is never chosen: FED-3.2-c"
        assert set(job.tags) <= set(region.tags)
        if rules.is_spoke and one.id not in {rules.local_region, one.via}:
            hub = rules.hub
            assert hub is not None
            assert snapshot.health[hub.id].is_routable, "FED-2.1-c"
    if job.region is not None:
        assert decision.strategy == GEO_PIN
        allowed = {job.region, rules.hub.id if rules.hub else job.region}
        assert set(ranked(decision)) <= {job.region}, "FED-3.3-a"
        assert set(decision.probe) <= allowed
    for id in decision.probe:  # noqa: A001
        assert snapshot.health.get(id, Health()).is_admitting, "nothing is sent while open"
    assert 0 not in [one.score for one in decision.candidates]


@given(
    rules=configs(), snapshot=SNAPSHOTS, job=METAS,
    reports=st.lists(
        st.sampled_from([429, 503, 500, 201, 422, 302]).map(answered)
        | st.sampled_from([Report(Fate.AMBIGUOUS, reason="lost"), Report(Fate.NOT_SENT)]),
        min_size=40, max_size=40,
    ),
)  # fmt: skip
def test_a_delivery_ends_and_a_pinned_job_never_leaves(
    rules: FederationConfig, snapshot: Snapshot, job: FederationMeta, reports: list[Report]
) -> None:
    try:
        delivery = Delivery(decide(rules, snapshot, job), rules.failover.attempts)
    except (OJSError, IndexError):  # refused, or no region has been probed yet
        return
    sent: list[tuple[str, bool]] = []
    while (attempt := delivery.next_attempt()) is not None:
        sent.append((attempt.region, attempt.is_repeat))
        delivery.record_report(reports.pop())

    regions = list(dict.fromkeys(region for region, _ in sent))
    assert len(regions) <= (1 if job.region else rules.failover.attempts)
    if job.region is not None:
        assert regions == [job.region]
    for region in regions:
        repeats = [is_repeat for one, is_repeat in sent if one == region]
        assert len(repeats) <= 2, "the same region is asked once more at most"
        assert all(repeats[1:]), "and told that it may know the job"


def test_read_meta_of_the_seeds_example_is_refused_for_replicated_from() -> None:
    """D-FED-6: servers keep the member, the router refuses it."""
    meta = {
        "ojs.federation.federation_id": "01912e4a-7b3c-7def-8a12-abcdef123456",
        "ojs.federation.region": "eu-west-1",
        "ojs.federation.region_affinity": "geo-pin",
    }
    assert read_meta(meta).strategy == GEO_PIN
    with pytest.raises(InvalidFederationMeta, match="replicated_from"):
        read_meta({**meta, "ojs.federation.replicated_from": "us-east-1"})
