"""Explanations compared with the claim, in random stores: next jobs are taken, held jobs are not.

Spec: contract 20.5.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs import queries
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest, Share, SharingPolicy
from jobs.domain.dispatch.explanation import Explanation
from jobs.domain.states import CODES, State
from jobs.domain.wire.ids import new_id
from jobs.models import Job, Lane, Lease, Ready, Start
from jobs.queries import ago
from jobs.services.dispatch.explain import explain
from jobs.services.dispatch.fetch import fetch, low_water_marks
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import lanes
from jobs.services.lanes.queue_config import configure
from jobs.services.operate import maintenance
from jobs.services.operate.queues import pause
from jobs.services.outcome.ack import Ack, ack
from jobs.services.read.show import show_many
from jobs.services.upkeep.reset import reset
from tests.effort import examples
from tests.factories import FAR, DraftFactory, stored
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

QUEUE = "q"
HOUR_S = 3600
LIMITS: list[dict[str, Any] | None] = [
    None,
    {"key": "one", "concurrency": 1},
    {"key": "two", "concurrency": 2, "scope": "global"},
    {"key": "rate", "rate": {"limit": 1, "period": "PT1H"}},
    {"key": "gap", "throttle": {"limit": 1, "period": "PT1H"}},
]
TENANTS = ("t0", "t1", "t2")

Step = Callable[[], object]


def store(number: int, tenant: int, priority: int, limit: int, route: int = 0) -> None:
    """Enqueue equal jobs."""
    more = {"rate_limit": LIMITS[limit]} if LIMITS[limit] else {}
    draft = DraftFactory.create(queue=QUEUE, priority=priority, **more)
    enqueue(
        [replace(draft, id=new_id(), tenant=TENANTS[tenant], route=route) for _ in range(number)]
    )


def expire(number: int) -> None:
    """Let two available jobs expire, as if the loop that discards them were late."""
    ids = list(Ready.objects.order_by("seq").values_list("id", flat=True)[number : number + 2])
    for model in (Job, Ready):
        model.objects.filter(id__in=ids).update(expires_at=ago(1000))


def pass_an_hour() -> None:
    """Move starts and blocks an hour back: windows of limits end and their lanes open."""
    past = timedelta(seconds=HOUR_S + 1)
    for start in Start.objects.order_by("slot"):
        Start.objects.filter(pk=start.pk).update(slot=F("slot") - past, at=F("at") - past)
    Lane.objects.exclude(blocked_until=None).update(blocked_until=F("blocked_until") - past)


def window_passes(number: int) -> None:
    """Let a rate block a lane, let other lanes advance, and let the window end."""
    store(2, 0, 0, 3)
    store(4, 1, 0, 0)
    claim(number + 2)
    pass_an_hour()


def hold_lane(number: int) -> None:
    ids = list(Lane.objects.order_by("id").values_list("id", flat=True))
    lanes.set_paused(ids[number : number + 1], paused=True)


def boost(tenant: int, by: int) -> None:
    """Add `by` to the priority of the tenant's lanes."""
    found = Lane.objects.filter(tenant=TENANTS[tenant]).values_list("id", "weight", "scope")
    queries.reweigh(
        {lane: Share(weight, SharingPolicy(scope=scope), by) for lane, weight, scope in found}
    )


def end_some(number: int) -> None:
    """Acknowledge active jobs."""
    held = Lease.objects.order_by("id").values_list("id", flat=True)
    ack([Ack(str(job_id)) for job_id in held[:number]])


def claim(count: int) -> list[str]:
    """Claim without the low-water marks of earlier claims."""
    low_water_marks.clear()
    return [job.id for job in fetch(FetchRequest((QUEUE,), count=count)).jobs]


few = st.integers(0, 4)
STEPS: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    *[st.tuples(st.just(store), st.integers(1, 3), st.integers(0, 2), st.sampled_from([0, 0, 5]),
                st.sampled_from([0, 0, 1, 2, 3, 4]), st.sampled_from([0, 0, 0, 1]))] * 3,
    st.tuples(st.just(claim), st.integers(1, 4)),
    st.tuples(st.just(end_some), few),
    st.tuples(st.just(expire), few),
    st.tuples(st.just(hold_lane), few),
    st.tuples(st.just(pass_an_hour)),
    st.tuples(st.just(window_passes), few),
    st.tuples(st.just(lambda tenant, weight, cap: lanes.set_weight_and_cap(
        TENANTS[tenant], weight=weight, cap=cap)), st.integers(0, 2),
        st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([None, None, 0, 1, 2])),
    st.tuples(st.just(boost), st.integers(0, 2), st.sampled_from([0, 5, 10, -5])),
    st.tuples(st.just(lambda concurrency: configure(
        QUEUE, {"concurrency": concurrency})), st.sampled_from([1, 3, 50])),
    st.tuples(st.just(lambda: stored(1, queue=QUEUE, scheduled_at=FAR))),
    st.tuples(st.just(lambda: stored(1, queue=QUEUE, pending=True))),
)  # fmt: skip
seen: Counter[str] = Counter()


def explained() -> dict[str, Explanation]:
    """Return the explanation of every waiting job."""
    ids = [str(job_id) for job_id in Job.objects.filter(state=None).values_list("id", flat=True)]
    return {
        job.id: explain(job, None) for job in show_many(ids) if job.state != CODES[State.ACTIVE]
    }


def agree() -> str | None:
    """Compare the explanations with the next claim; return the job that it took."""
    said = explained()
    certain = {
        job_id for job_id, found in said.items() if found.standing and found.standing.is_next
    }
    equals = {
        job_id
        for job_id, found in said.items()
        if found.standing and found.standing.is_next is None
    }
    closed = {
        job_id
        for job_id, found in said.items()
        if any(gate.is_closed and gate.is_enforced for gate in found.gates)
    }
    seen.update({f"{g.gate} {g.state}" for found in said.values() for g in found.gates})
    seen.update(certain=bool(certain), equals=bool(equals), nothing=not certain | equals)

    taken = claim(1)

    assert len(certain) <= 1
    assert not (certain and equals)
    assert not closed & set(taken)
    if certain:
        assert set(taken) == certain
    elif equals:
        assert set(taken) <= equals
        assert taken
    else:
        assert not taken
    return taken[0] if taken else None


def compare(number: int, switch: Callable[[], object] | None = None) -> set[str]:
    """Compare in random stores; return the observed gates and results.

    A `switch` runs after all other steps.
    """
    seen.clear()

    @settings(
        max_examples=examples(number),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(STEPS, min_size=4, max_size=24))
    def in_store(steps: list[tuple[Any, ...]]) -> None:
        reset()
        for run, *arguments in steps:
            run(*arguments)
        if switch:
            switch()
        for _ in range(3):
            if agree() is None:
                break

    in_store()
    return {name for name, times in seen.items() if times}


@spec("contract 20.5")
def test_what_is_next_is_taken_and_what_is_held_is_not() -> None:
    assert {
        "certain", "equals", "nothing", "limit closed", "lane closed", "expiry closed",
        "schedule closed", "activation closed",
    } <= compare(60)  # fmt: skip


@spec("contract 20.5")
def test_nothing_of_a_paused_queue_is_next() -> None:
    found = compare(6, lambda: pause(QUEUE))

    assert "queue closed" in found
    assert not found & {"certain", "equals", "queue open"}


@spec("contract 20.5")
def test_nothing_is_next_during_maintenance() -> None:
    found = compare(6, lambda: maintenance.start(Caller("test"), reason=None, duration_ms=None))

    assert "maintenance closed" in found
    assert not found & {"certain", "equals", "maintenance open"}


@spec("contract 20.5")
def test_where_tenants_do_not_share_the_oldest_is_next() -> None:
    def order() -> None:
        found = Lane.objects.filter(queue=QUEUE).values_list("id", flat=True)
        queries.reweigh(dict.fromkeys(found, Share(policy=SharingPolicy(is_ordered=True))))

    found = compare(30, order)

    assert {"certain", "nothing", "limit closed", "lane closed"} <= found
