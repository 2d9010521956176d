"""FETCH: selected jobs, their order, and refusals. Spec: contract 9.2, 9.4, 10.1, 10.2."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings

from jobs import queries
from jobs.domain.dispatch.claim import ClaimPlan, FetchRequest
from jobs.domain.job import Job
from jobs.domain.states import State
from jobs.models import Lane, Later, Lease, Ready
from jobs.queries import ago
from jobs.services.dispatch import waiting
from jobs.services.dispatch.fetch import fetch, low_water_marks
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import lanes
from jobs.services.operate.queues import pause, resume
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from jobs.services.workers.workers import direct
from tests.asserts import assert_state, assert_store_is_sound, assert_times_in_order
from tests.concurrency import threads
from tests.factories import DraftFactory, JobFactory, stored, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def fetched(*queues: str, count: int = 100, **request: Any) -> list[str]:
    """Fetch and return the ids in order."""
    found = fetch(FetchRequest(queues or ("default",), count=count, **request))
    return [job.id for job in found.jobs]


def claimed(**plan: Any) -> list[str]:
    """Claim by a plan, as extensions shape it, and return the ids in order."""
    facts: dict[str, Any] = {"queues": ("default",), "limit": 100, **plan}
    found = queries.claim(ClaimPlan(**facts), queries.Claimer(), 60_000, queries.Hints())
    return [job.id for job in found.jobs]


def of_tenant(tenant: str, number: int = 1, route: int = 0, **envelope: Any) -> list[str]:
    """Store jobs of a tenant and return their ids."""
    drafts = [
        replace(DraftFactory.create(**envelope), tenant=tenant, route=route) for _ in range(number)
    ]
    return [job.id for job in enqueue(drafts) if job is not None]


@spec("contract 2.2")
def test_fetch_makes_a_job_active_with_attempt_lease_and_holder() -> None:
    job_id = stored_ids(1)[0]

    found = fetch(FetchRequest(("default",), worker_id="w1", visibility_ms=5000)).jobs[0]

    assert (found.id, found.attempt, found.worker_id, found.lease_ms) == (job_id, 1, "w1", 5000)
    assert_state(State.ACTIVE, job_id)
    assert_times_in_order(found)
    assert_store_is_sound()


@pytest.fixture
def strict() -> Iterator[None]:
    """Let a claim serve queues in the order of the request, the core's default. Spec: D-FS-4."""
    with override_settings(OJS_SCHEDULING={"DEFAULT_STRATEGY": "strict"}):
        yield


@pytest.mark.usefixtures("strict")
@spec("contract 10.1")
def test_jobs_come_by_queue_then_priority_then_age() -> None:
    late = stored_ids(1, queue="b", priority=100)
    low = stored_ids(1, queue="a", priority=-5)
    first, second = stored_ids(2, queue="a")
    high = stored_ids(1, queue="a", priority=5)

    assert fetched("a", "b") == [*high, first, second, *low, *late]


@pytest.mark.usefixtures("strict")
@spec("contract 10.1")
def test_a_later_queue_is_read_only_when_earlier_ones_did_not_fill_count() -> None:
    stored_ids(3, queue="a")
    other = stored_ids(2, queue="b")

    assert len(fetched("a", "b", count=2)) == 2
    assert fetched("b", count=5) == other
    assert len(fetched("a", "b", count=5)) == 1


@spec("contract 10.1")
def test_a_queue_named_twice_counts_once() -> None:
    ids = stored_ids(2)

    assert fetched("default", "default", count=5) == ids


@spec("contract 10.1")
def test_a_job_that_is_given_back_keeps_its_place() -> None:
    first, second = stored_ids(2)
    assert fetched(count=1) == [first]

    nack([Nack(first, None, requeue=True)])

    assert fetched() == [first, second]


def test_fetch_from_an_unknown_or_empty_queue_returns_nothing() -> None:
    stored_ids(1)

    assert fetched("unknown") == []
    assert fetched() != []
    assert fetched() == []


@spec("contract 10.2")
def test_a_paused_queue_hands_out_nothing_and_its_active_jobs_finish() -> None:
    running = JobFactory.create(state=State.ACTIVE)
    waiting = stored_ids(1)
    pause("default")

    assert fetched() == []
    ack([Ack(running.id)])
    assert_state(State.COMPLETED, running.id)

    resume("default")
    assert fetched() == waiting


@spec("contract 2.5")
def test_an_expired_job_is_never_handed_out() -> None:
    expired, fine = stored_ids(2, expires_at="+PT1H")
    Ready.objects.filter(id=expired).update(expires_at=ago(1))

    assert fetched() == [fine]


@spec("contract 2.5")
def test_what_became_due_is_handed_out_before_the_loops_see_it() -> None:
    job = JobFactory.create(state=State.SCHEDULED)
    Later.objects.update(due_at=ago(1))

    assert fetched() == [job.id]


@pytest.mark.parametrize("tenant", [None, "_default"])
@spec("contract 10.1")
def test_expired_jobs_hold_back_none_behind_them(tenant: str | None) -> None:
    expired = stored_ids(3, priority=5, expires_at="+PT1H")
    expired += stored_ids(1, priority=4, expires_at="+PT1H")
    behind = stored_ids(2)
    Ready.objects.filter(id__in=expired).update(expires_at=ago(1))

    assert fetched(tenant=tenant) == behind


@pytest.mark.parametrize("tenant", [None, "_default"])
@spec("contract 10.1")
def test_a_job_in_the_hands_of_another_transaction_holds_back_none(tenant: str | None) -> None:
    first = stored_ids(1, priority=5)
    behind = stored_ids(2)

    with threads(1) as start, transaction.atomic():
        cancel(first[0])
        found = start(lambda: fetched(tenant=tenant)).result()
        transaction.set_rollback(True)

    assert found == behind
    assert fetched() == first


@pytest.mark.parametrize(
    ("envelope", "request_ms", "expected_ms"),
    [
        ({}, None, 1_800_000),
        ({"visibility_timeout_ms": 7000}, None, 7000),
        ({"visibility_timeout_ms": 7000}, 9000, 9000),
    ],
)
@spec("contract 9.2")
def test_the_lease_is_the_requests_else_the_jobs_else_the_servers(
    envelope: dict[str, Any], request_ms: int | None, expected_ms: int
) -> None:
    stored(1, **envelope)

    fetch(FetchRequest(("default",), visibility_ms=request_ms))

    lease = Lease.objects.get()
    assert lease.lease_ms == expected_ms
    assert (lease.lease_until - lease.started_at).total_seconds() * 1000 == expected_ms


@pytest.mark.parametrize("standing", [Standing.QUIET, Standing.TERMINATE])
@spec("contract 9.4")
def test_a_worker_that_reports_the_end_gets_nothing(standing: Standing) -> None:
    ids = stored_ids(1)
    heartbeat(Report("w1", standing, active_jobs=1))

    answer = fetch(FetchRequest(("default",), worker_id="w1"))

    assert (answer.jobs, answer.directive) == ([], standing)
    assert fetched(worker_id="w2") == ids


@spec("contract 9.4")
def test_a_worker_told_to_be_quiet_gets_nothing_until_it_may_resume() -> None:
    ids = stored_ids(1)
    heartbeat(Report("w1"))
    direct("w1", "quiet")
    assert fetched(worker_id="w1") == []

    direct("w1", "resume")
    assert fetched(worker_id="w1") == ids


def test_claim_of_a_tenant_gets_only_its_jobs_best_priority_first() -> None:
    of_tenant("b", 3, priority=9)
    low = of_tenant("a", 1, priority=-9)
    high = of_tenant("a", 1, priority=3)
    elsewhere = of_tenant("a", 1, queue="other")

    assert claimed(tenant="a") == [*high, *low]
    assert claimed(tenant="a") == []
    assert claimed(tenant="a", queues=("other",)) == elsewhere
    assert claimed(tenant="nobody") == []
    assert_store_is_sound()


def test_claim_of_a_tenant_takes_turns_between_its_routes_and_keeps_to_those_accepted() -> None:
    first = of_tenant("a", 2, route=1)
    second = of_tenant("a", 2, route=2)
    of_tenant("a", 2, route=3)
    of_tenant("b", 2, route=1)

    found = claimed(tenant="a", version_keys=(1, 2), limit=2)
    found += claimed(tenant="a", version_keys=(1, 2), limit=5)

    assert sorted(found) == sorted(first + second)


def test_claim_of_routes_passes_by_the_lanes_of_others() -> None:
    of_tenant("a", 2, route=3, priority=9)
    mine = of_tenant("a", 2, route=1)

    assert claimed(version_keys=(0, 1)) == mine


@pytest.mark.parametrize("narrowed", [{}, {"tenant": "a"}])
def test_claim_respects_the_cap_of_a_tenant_and_goes_on_when_a_lease_ends(
    narrowed: dict[str, Any],
) -> None:
    ids = of_tenant("a", 3) + of_tenant("a", 2, priority=4)
    lanes.set_weight_and_cap("a", weight=1, cap=2)

    first = claimed(**narrowed)
    assert len(first) == 2
    assert claimed(**narrowed) == []

    ack([Ack(first[0])])
    rest = claimed(**narrowed)
    assert len(rest) == 1
    ack([Ack(job_id) for job_id in (first[1], *rest)])
    assert sorted(first + rest + claimed(**narrowed)) == sorted(ids)


def test_a_capped_tenant_does_not_hold_back_the_next() -> None:
    of_tenant("a", 3, priority=5)
    free = of_tenant("b", 2)
    lanes.set_weight_and_cap("a", weight=1, cap=0)

    assert claimed() == free


def test_a_paused_lane_is_passed_by() -> None:
    held = of_tenant("a", 1, priority=5)
    free = of_tenant("b", 1)
    lane_id = Lane.objects.get(tenant="a").id
    lanes.set_paused([lane_id], paused=True)
    assert claimed() == free

    lanes.set_paused([lane_id], paused=False)
    assert claimed() == held


@spec("FS-9.2-b")
def test_a_lane_that_resumes_takes_nothing_back() -> None:
    for tenant in "abc":
        of_tenant(tenant, 60)
    fetched("default", count=9)
    held = [Lane.objects.get(tenant=tenant).id for tenant in "ab"]
    lanes.set_paused(held, paused=True)
    fetched("default", count=40)

    assert lanes.set_paused(held, paused=False) == 2
    assert lanes.set_paused(held, paused=False) == 0  # they are no longer held

    low_water_marks.clear()
    taken = Counter(job.tenant for job in fetch(FetchRequest(("default",), 30)).jobs)
    # no lane is more than one job ahead; c has only 17 jobs left
    assert taken.total() == 30
    assert max(taken.values()) - min(taken.values()) <= 2


@spec("FS-9.2-b")
def test_lanes_that_resume_alone_are_equals_of_one_another() -> None:
    for tenant in "ab":
        of_tenant(tenant, 60)
    held = [Lane.objects.get(tenant=tenant).id for tenant in "ab"]
    lanes.set_paused(held[:1], paused=True)
    fetched("default", count=40)
    lanes.set_paused(held[1:], paused=True)

    lanes.set_paused(held, paused=False)

    low_water_marks.clear()
    taken = Counter(job.tenant for job in fetch(FetchRequest(("default",), 20)).jobs)
    assert abs(taken["a"] - taken["b"]) <= 2


@pytest.mark.parametrize("queues", [("default",), ("default", "other")])
@spec("fair-scheduling 5.5")
def test_a_worker_gets_no_more_than_it_says_it_runs(queues: tuple[str, ...]) -> None:
    ids = stored_ids(9)
    heartbeat(Report("w1", concurrency=3))

    first = fetched(*queues, count=2, worker_id="w1")

    assert first == ids[:2]
    assert fetched(*queues, worker_id="w1") == ids[2:3]
    assert fetched(*queues, worker_id="w1") == []
    ack([Ack(ids[0])])
    assert fetched(*queues, worker_id="w1") == ids[3:4]
    assert len(fetched(*queues, worker_id="w2")) == 5


@spec("fair-scheduling 5.5")
def test_the_smallest_of_what_worker_and_pool_may_have_counts() -> None:
    stored_ids(9)
    heartbeat(Report("w1", concurrency=3))
    by = queries.Claimer("w1")

    def number(cap: int) -> int:
        plan = ClaimPlan(("default",), 9, pool="p", pool_cap=cap)
        return len(queries.claim(plan, by, 60_000, queries.Hints()).jobs)

    assert [number(2), number(9), number(9)] == [2, 1, 0]


@pytest.mark.parametrize("said", [None, 0])
@spec("fair-scheduling 5.5")
def test_a_worker_that_says_nothing_of_it_gets_what_it_asks_for(said: int | None) -> None:
    stored_ids(9)
    heartbeat(Report("w1", concurrency=said))

    assert len(fetched(worker_id="w1")) == 9


@spec("fair-scheduling 5.5")
def test_a_worker_that_prefetches_keeps_count_by_itself() -> None:
    stored_ids(9)
    heartbeat(Report("w1", concurrency=3))

    assert len(fetched(worker_id="w1", prefetches=True)) == 9


def test_claim_in_a_pool_never_exceeds_its_cap() -> None:
    ids = stored_ids(5)

    assert claimed(pool="p", pool_cap=3) == ids[:3]
    assert claimed(pool="p", pool_cap=3) == []
    assert claimed(pool="q", pool_cap=1) == ids[3:4]

    ack([Ack(ids[0])])
    assert claimed(pool="p", pool_cap=3) == ids[4:]


@spec("fair-scheduling 9")
def test_lanes_of_one_priority_share_by_weight() -> None:
    for tenant, weight in (("a", 3.0), ("b", 1.0)):
        of_tenant(tenant, 60)
        lanes.set_weight_and_cap(tenant, weight=weight, cap=None)

    counted = {"a": 0, "b": 0}
    for _ in range(40):
        for job in fetched_jobs(1):
            counted[job.tenant] += 1

    assert counted == {"a": 30, "b": 10}


def fetched_jobs(count: int) -> list[Job]:
    """Fetch and return the jobs."""
    return fetch(FetchRequest(("default",), count=count)).jobs


class Rested(Exception):
    """Raised at the first rest of a long poll, to end it."""


@spec("contract 3.4")
def test_a_long_poll_that_finds_nothing_rests_before_it_looks_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rests: list[float] = []

    def wait(_seen: int, timeout_s: float) -> None:
        rests.append(timeout_s)
        raise Rested

    monkeypatch.setattr(waiting._listener, "rounds", lambda: 0)
    monkeypatch.setattr(waiting._listener, "wait", wait)

    with pytest.raises(Rested):
        waiting.fetch_or_wait(FetchRequest(("default",)), 60_000, lambda: False)
    assert rests[0] >= 0.01


@spec("contract 3.4")
def test_a_client_that_goes_while_it_waits_gets_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(_seen: int, _timeout_s: float) -> None:
        stored_ids(1)

    monkeypatch.setattr(waiting._listener, "rounds", lambda: 0)
    monkeypatch.setattr(waiting._listener, "wait", wait)
    request = FetchRequest(("default",))

    assert waiting.fetch_or_wait(request, 60_000, lambda: True).jobs == []
    assert len(waiting.fetch_or_wait(request, 60_000, lambda: False).jobs) == 1
