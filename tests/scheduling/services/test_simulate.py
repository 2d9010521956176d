"""Simulations with the real claim: shares, strategies, caps; live tables stay untouched."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
import pytest
from django.db.models import F

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import OJSError
from jobs.models import Event, Lease, Ready
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes.queue_config import configure
from jobs.services.outcome.ack import Ack, ack
from scheduling.domain.outcome import Outcome
from scheduling.domain.simulation import TooLong
from scheduling.services import pool_cache, scenarios, simulate
from scheduling.services.past import past
from scheduling.services.scenarios import Wish
from scheduling.services.simulate import Comparison
from tenancy.domain.tenant import Definition, TenantPolicy
from tenancy.services.tenant_cache import as_if
from tenancy.services.tenants import put as put_tenant
from tests.concurrency import at_once
from tests.factories import DraftFactory, stored_ids
from tests.jobs.services.upkeep.test_scratch import left, written
from tests.scheduling.pools import put
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def compared(scenario: dict[str, Any], **changes: Any) -> Comparison:
    """Simulate a scenario, also with the changes if there are any."""
    text = orjson.dumps(changes).decode() if changes else ""
    return scenarios.run(Wish(scenario=orjson.dumps(scenario).decode(), changes=text))


def overloaded(*queues: str, slots: int = 4, **members: Any) -> dict[str, Any]:
    """Return a scenario in which all queues have jobs until the end."""
    return {
        "duration": "30s",
        "workers": [{"pool": "p", "slots": slots}],
        "jobs": [{"queue": q, "arrivals": {"burst": 300}, "runs": "500ms"} for q in queues],
        "pools": {"p": {"queues": list(queues)}},
        **members,
    }


def starts(found: Outcome) -> dict[str, int]:
    """Return how many jobs of each queue started."""
    return {name: one.started for name, one in found.queues.items()}


@spec("MT-8.1-f")
def test_boosts_of_tenants_count_in_simulations() -> None:
    put_tenant("blue", Definition(boost=10))
    jobs = [
        {"queue": "q", "tenant": "red", "priority": 5, "arrivals": {"burst": 100}, "runs": "500ms"},
        {"queue": "q", "tenant": "blue", "arrivals": {"burst": 100}, "runs": "500ms"},
    ]

    found = compared({**overloaded("q"), "duration": "5s", "jobs": jobs}).before

    assert found.tenants["blue"].started >= 40
    assert found.tenants["red"].started == 0


def test_a_weight_of_a_tenant_counts_that_is_not_stored() -> None:
    put_tenant("blue", Definition(weight=1.0))
    scenario = {
        **overloaded("q"),
        "jobs": [
            {"queue": "q", "tenant": tenant, "arrivals": {"burst": 300}, "runs": "500ms"}
            for tenant in ("blue", "red")
        ],
    }

    found = scenarios.run(
        Wish(scenario=orjson.dumps(scenario).decode()),
        after=partial(as_if, {"blue": TenantPolicy(weight=3.0)}),
    )

    assert found.after is not None
    assert abs(found.before.tenants["blue"].share - 0.5) < 0.02
    assert abs(found.after.tenants["blue"].share - 0.75) < 0.02


def test_the_scope_of_priorities_can_be_changed() -> None:
    jobs = [
        {"queue": "a", "arrivals": {"burst": 100}, "runs": "500ms"},
        {"queue": "b", "priority": 5, "arrivals": {"burst": 100}, "runs": "500ms"},
    ]
    work = {
        "duration": "10s", "workers": [{"queues": ["a", "b"], "slots": 4}], "jobs": jobs,
        "scheduling": {"default_strategy": "strict"},
    }  # fmt: skip

    found = compared(work, scheduling={"priority_scope": "global"})

    assert found.after is not None
    assert starts(found.before)["b"] == 0
    assert starts(found.after)["a"] == 0


def test_weighted_shares_are_the_weights_and_round_robin_is_even() -> None:
    weighted = {"queues": {"a": 3, "b": 2, "c": 1}, "strategy": "weighted"}
    found = compared(overloaded("a", "b", "c"), pools={"p": weighted})

    assert found.after is not None
    assert max(starts(found.before).values()) - min(starts(found.before).values()) <= 1
    total = found.after.total.started
    for name, weight in (("a", 3), ("b", 2), ("c", 1)):
        assert abs(found.after.queues[name].started - total * weight / 6) <= 1


def test_strict_empties_the_first_queue_first() -> None:
    work = overloaded("a", "b", jobs=[
        {"queue": q, "arrivals": {"burst": 100}, "runs": "500ms"} for q in "ab"
    ])  # fmt: skip
    found = compared(work, pools={"p": {"queues": ["a", "b"], "strategy": "strict"}})

    assert found.after is not None
    assert found.after.queues["a"].max_ms < found.after.queues["b"].p50_ms
    assert abs(found.before.queues["a"].p95_ms - found.before.queues["b"].p95_ms) <= 1000
    assert found.before.total.started == found.after.total.started == 200


def test_tenants_share_by_their_weights() -> None:
    work = overloaded("a", jobs=[
        {"queue": "a", "tenant": t, "arrivals": {"burst": 300}, "runs": "500ms"} for t in ("x", "y")
    ])  # fmt: skip
    found = compared(work, scheduling={"tenant_fairness": {"weights": {"tenant:x": 4}}})

    assert found.after is not None
    assert abs(found.before.tenants["x"].share - 0.5) <= 0.01
    assert abs(found.after.tenants["x"].share - 0.8) <= 0.02


@spec("FS-9.2-a")
def test_weights_and_scopes_of_pools_may_be_tried() -> None:
    who = [("a", "x"), ("a", "y"), ("b", "y")]
    work = overloaded("a", "b", jobs=[
        {"queue": q, "tenant": t, "arrivals": {"burst": 300}, "runs": "500ms"} for q, t in who
    ])  # fmt: skip
    pool = {"queues": ["a", "b"]}
    weighed = {**pool, "tenant_fairness": {"weights": {"x": 3}}}
    together = {**pool, "tenant_fairness": {"scope": "pool"}}

    for tried, share in ((pool, 1 / 4), (weighed, 3 / 8), (together, 1 / 2)):
        found = compared(
            {**work, "pools": {"p": tried}}, pools={"p": {**tried, "strategy": "weighted"}}
        )

        assert abs(found.before.tenants["x"].share - share) <= 0.02
        assert found.after is not None
        assert abs(found.after.tenants["x"].share - share) <= 0.02


def test_the_cap_of_a_pool_and_the_limit_of_a_queue_hold_in_virtual_time() -> None:
    found = compared(
        overloaded("a", slots=10),
        pools={"p": {"queues": ["a"], "concurrency": 2}},
    )
    limited = compared(overloaded("a", slots=10), queues={"a": {"concurrency": 3}})
    rated = compared(
        overloaded("a", slots=10), queues={"a": {"rate_limit": {"limit": 5, "period": "PT10S"}}}
    )

    # each job runs half a second; 30 seconds, and the moment at their end
    assert 600 >= found.before.total.started >= 290
    for comparison, most in ((found, 2), (limited, 3)):
        assert comparison.after is not None
        assert most * 58 <= comparison.after.total.started <= most * 61
    assert rated.after is not None
    assert 15 <= rated.after.total.started <= 20


def test_the_same_wish_comes_out_the_same() -> None:
    work = overloaded("a", "b", jobs=[
        {"queue": q, "tenant": t, "arrivals": {"poisson": 5}, "runs": {"exponential": "700ms"}}
        for q in "ab" for t in ("x", "y")
    ])  # fmt: skip

    first, second = compared(work), compared(work)

    assert first.to_json() == second.to_json()


def test_two_at_a_time_do_not_meet() -> None:
    alone = compared(overloaded("a", "b"))

    found = at_once([lambda: compared(overloaded("a", "b"))] * 2)

    assert [one.to_json() for one in found] == [alone.to_json()] * 2
    assert left() == []


def test_live_tables_are_not_touched_and_live_pools_count() -> None:
    put("p", "a", "b", strategy="strict")
    configure("b", {"concurrency": 1})
    stored_ids(3, queue="a")
    pool_cache.read()
    before = written()
    work = overloaded("a", "b")
    del work["pools"]

    found = compared(work)

    assert written() == before
    assert found.before.queues["a"].started > 200
    assert found.before.queues["b"].started == 0
    assert pool_cache.current().by_name.keys() == {"p"}
    assert left() == []


def test_nothing_is_left_when_it_fails_or_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    wish = Wish(scenario=orjson.dumps(overloaded("a")).decode())
    with pytest.raises(TooLong):
        scenarios.run(wish, most_s=-1)
    assert left() == []

    def broken(*_args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(simulate._Store, "complete", broken)
    with pytest.raises(ZeroDivisionError):
        scenarios.run(wish)
    assert left() == []


def test_other_workers_may_be_tried() -> None:
    found = compared(overloaded("a", slots=1), workers=[{"pool": "p", "slots": 3}])

    assert found.after is not None
    assert found.after.total.started == 3 * found.before.total.started


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        (Wish(), "minutes"),
        (Wish(minutes=5, scenario="a: 1"), "minutes"),
        (Wish(minutes=0), "minutes"),
        (Wish(minutes=5), "minutes"),
        (Wish(scenario="- a"), "scenario"),
        (Wish(scenario="a: 1"), "scenario.a"),
        (Wish(minutes=5, changes="pools: {p: {queues: []}}"), "changes.pools.p.queues"),
        (
            Wish(scenario=orjson.dumps(overloaded("a")).decode(), changes="pools: {none: null}"),
            "changes.pools.none",
        ),
    ],
)
def test_what_is_wrong_is_named(wish: Wish, field: str) -> None:
    with pytest.raises(OJSError) as refused:
        scenarios.run(wish)

    assert refused.value.details["field"] == field


def test_pools_that_contradict_each_other_are_refused() -> None:
    pools = {
        name: {"queues": ["a"], "tenant_fairness": {"weights": {"tenant:x": n}}}
        for n, name in enumerate("pq", 1)
    }
    with pytest.raises(OJSError) as refused:
        compared(overloaded("a"), pools=pools)

    assert refused.value.details["field"].endswith("tenant_fairness")


def age(seconds: int) -> None:
    """Move all records back by this time."""
    ago = timedelta(seconds=seconds)
    Event.objects.update(at=F("at") - ago)
    Lease.objects.update(started_at=F("started_at") - ago)
    Ready.objects.update(enqueued_at=F("enqueued_at") - ago)


def test_the_past_is_replayed_with_its_arrivals_lengths_and_workers() -> None:
    put("p", "a", "b", strategy="strict")
    drafts = [replace(DraftFactory.create(queue="a"), tenant="blue") for _ in range(4)]
    enqueue(drafts)
    fetched = fetch(FetchRequest(("a",), 2, worker_id="w1", pool="p")).jobs
    age(20)  # the first two jobs started 20 s before they end
    ack([Ack(job.id) for job in fetched])
    age(30)
    stored_ids(3, queue="b")
    fetch(FetchRequest(("b",), 1, worker_id="w2"))

    load = past(5, 1000, pool_cache.read())

    assert len(load.arrivals) == 7
    assert {job.run_ms // 1000 for job in load.arrivals if job.lane.queue == "a"} == {20}
    assert {(job.lane.queue, job.lane.tenant) for job in load.arrivals} == {
        ("a", "blue"), ("b", "_default"),
    }  # fmt: skip
    assert {(one.pool, one.queues, one.slots) for one in load.workers} == {
        ("p", (), 2), (None, ("b",), 1),
    }  # fmt: skip
    assert load.until_ms == 300_000
    assert "5 unfinished jobs" in load.notes[0]


def test_the_past_is_bounded_and_says_so() -> None:
    stored_ids(30, queue="a")
    fetch(FetchRequest(("a",), 20))

    load = past(5, 10, pool_cache.read())

    assert len(load.arrivals) == 10
    assert "only the latest 10 jobs" in load.notes[0]


def test_the_past_under_a_change() -> None:
    put("p", "a", "b")
    for queue in "ab":
        stored_ids(10, queue=queue)
    taken = fetch(FetchRequest((), 4, worker_id="w", pool="p")).jobs
    age(10)
    ack([Ack(job.id) for job in taken])
    age(100)

    found = scenarios.run(Wish(minutes=5, changes="pools: {p: {queues: [b, a], strategy: strict}}"))

    assert found.after is not None
    assert starts(found.before) == starts(found.after) == {"a": 10, "b": 10}
    assert found.after.queues["b"].p95_ms < found.before.queues["b"].p95_ms
    assert found.after.queues["a"].p50_ms > found.before.queues["a"].p50_ms
