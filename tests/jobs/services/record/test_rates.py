"""Statistics over time, of all tenants and of a single tenant. Spec: contract 24.3, 32.6."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.latency import GROWTH, percentile
from jobs.domain.record.periods import DAY, HOUR, MINUTE, SPANS, coarsest
from jobs.domain.states import State
from jobs.models import Job, Latency, Period, TenantDepth, TenantPeriod
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.operate import queues
from jobs.services.outcome.ack import Ack, ack
from jobs.services.record.aggregate import aggregate_events
from jobs.services.record.rates import Spell, history, jobs_by_state, latencies_of, rates, rates_of
from tests.concurrency import wait_until_complete
from tests.factories import DraftFactory, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def aggregated() -> None:
    """Aggregate all events."""
    wait_until_complete()
    aggregate_events()  # the first run ever only stores the start position
    while aggregate_events():
        pass


def completed(number: int, **envelope: object) -> list[str]:
    ids = stored_ids(number, **envelope)
    queue = str(envelope.get("queue", "default"))
    fetch(FetchRequest((queue,), count=number))
    ack([Ack(job_id) for job_id in ids])
    return ids


def spell(minutes: int = 10) -> Spell:
    now = int(datetime.now(UTC).timestamp()) // 60 * 60
    at = datetime.fromtimestamp(now, UTC)
    return Spell(60, at - timedelta(minutes=minutes - 1), at + timedelta(minutes=1))


@pytest.mark.parametrize("ms", [1, 2, 7, 99, 1000, 12_345, 600_000])
@spec("contract 32.6")
def test_percentile_is_off_by_less_than_a_tenth(ms: int) -> None:
    bucket = 0
    while GROWTH**bucket < ms:
        bucket += 1

    assert percentile({bucket: 3}, 0.5) == pytest.approx(ms, rel=0.1)


@spec("contract 32.6")
def test_percentiles_of_nothing_are_zero() -> None:
    assert percentile({}, 0.99) == 0


@spec("contract 32.6")
def test_percentiles_are_in_order() -> None:
    jobs = {0: 50, 10: 45, 30: 5}

    found = [percentile(jobs, share) for share in (0.5, 0.95, 0.99)]

    assert found == [
        1.0,
        pytest.approx(GROWTH**9.5, rel=0.01),
        pytest.approx(GROWTH**29.5, rel=0.01),
    ]


@spec("contract 24.1")
def test_history_has_a_point_for_every_period_and_the_latencies() -> None:
    completed(3)
    aggregated()

    points = history(spell())

    assert len(points) == 10
    assert sum(point.completed for point in points) == 3
    assert sum(point.enqueued for point in points) == 3
    assert all(p.latency.p50 > 0 for p in points if p.completed)
    assert all(p.latency.p99 == 0 for p in points if not p.completed)
    of_minutes = Latency.objects.filter(span_s=MINUTE)
    assert sum(of_minutes.values_list("jobs", flat=True)) == 3
    assert latencies_of(["default", "idle"])["default"].p50 > 0


@spec("contract 24.1")
def test_history_of_a_queue_has_its_own_alone() -> None:
    completed(1, queue="a")
    completed(2, queue="b")
    aggregated()

    assert sum(point.completed for point in history(spell(), queue="b")) == 2


@spec("contract 24.3")
def test_rates_are_per_minute() -> None:
    completed(10)
    aggregated()

    found = rates()

    assert (found.completed, found.enqueued) == (2.0, 2.0)


def _of(tenant: str, number: int, queue: str) -> list[str]:
    drafts = [DraftFactory.create(queue=queue) for _ in range(number)]
    for draft in drafts:
        draft.tenant = tenant
    return [job.id for job in enqueue(drafts) if job]


@pytest.mark.parametrize("is_aggregated", [False, True])
@spec("contract 31.2")
def test_numbers_of_a_tenant_are_its_own_exact_alone(is_aggregated: bool) -> None:
    _of("north", 3, "a")
    _of("south", 5, "a")
    _of("south", 1, "b")
    if is_aggregated:
        aggregated()

    assert jobs_by_state(tenant="north")[State.AVAILABLE] == 3
    assert jobs_by_state(tenant="south")[State.AVAILABLE] == 6
    assert jobs_by_state("a", "south")[State.AVAILABLE] == 5
    assert jobs_by_state()[State.AVAILABLE] == 9
    assert TenantDepth.objects.exists() is is_aggregated
    assert queues.count_queues("north") == (1, 0)
    shown, total = queues.named_stats(tenant="south", limit=10, offset=0)
    assert [(q.name, q.jobs[State.AVAILABLE]) for q in shown] == [("a", 5), ("b", 1)]
    assert total == 2


@spec("contract 31.2")
def test_history_of_a_tenant_sums_its_queues() -> None:
    _of("north", 2, "a")
    _of("north", 1, "b")
    _of("south", 4, "a")
    aggregated()

    assert sum(point.enqueued for point in history(spell(), tenant="north")) == 3
    assert rates(tenant="north").enqueued == 0.6


@pytest.mark.parametrize("period_s", [HOUR, DAY])
@pytest.mark.parametrize("tenant", [None, "north"])
@spec("contract 32.6")
def test_hours_and_days_are_told_when_their_minutes_have_left(
    period_s: int, tenant: str | None
) -> None:
    drafts = [DraftFactory.create() for _ in range(4)]
    for draft in drafts:
        draft.tenant = "north"
    ids = [job.id for job in enqueue(drafts) if job]
    fetch(FetchRequest(("default",), count=4))
    ack([Ack(job_id) for job_id in ids])
    aggregated()
    for model in (Period, TenantPeriod, Latency):
        model.objects.filter(span_s=MINUTE).delete()
    last = int(datetime.now(UTC).timestamp()) // period_s * period_s
    until = datetime.fromtimestamp(last + period_s, UTC)

    points = history(Spell(period_s, until - timedelta(seconds=3 * period_s), until), tenant=tenant)

    assert len(points) == 3
    # the clock may have passed the border of a period
    assert [point.completed for point in points][1:] in ([0, 4], [4, 0])
    if tenant is None:
        assert max(point.latency.p99 for point in points) > 0
    assert sum(point.completed for point in history(spell(), tenant=tenant)) == 0


@pytest.mark.parametrize(
    ("period_s", "span_s"), [(60, 60), (300, 60), (3600, 3600), (7200, 3600), (86_400, 86_400)]
)
@spec("contract 32.6")
def test_points_are_made_of_the_coarsest_counts_that_divide_them(
    period_s: int, span_s: int
) -> None:
    assert coarsest(period_s) == span_s
    assert span_s in SPANS


@spec("contract 31.2")
def test_numbers_of_a_queue_are_a_tenants_own() -> None:
    ids = _of("north", 2, "a") + _of("south", 3, "a")
    fetch(FetchRequest(("a",), count=5))
    ack([Ack(job_id) for job_id in ids])
    _of("south", 1, "a")
    aggregated()

    north, south = queues.stats("a", "north"), queues.stats("a", "south")

    assert (north.jobs[State.COMPLETED], north.completed_last_hour) == (2, 2)
    assert (south.jobs[State.COMPLETED], south.completed_last_hour) == (3, 3)
    assert (north.depth, south.depth, queues.stats("a", "nobody").depth) == (0, 1, 0)
    assert queues.stats("a").completed_last_hour == 5
    assert rates_of(["a"], "north")["a"].completed == 0.4
    assert rates_of(["a"], "nobody") == {}


@spec("contract 24.1")
def test_priorities_count_available_jobs() -> None:
    stored_ids(2, priority=5)
    stored_ids(3)
    stored_ids(1, scheduled_at="2099-01-01T00:00:00Z", priority=9)

    assert queues.priorities("default") == {5: 2, 0: 3}
    assert queues.priorities("default", "other") == {}
    first = Job.objects.exclude(enqueued_at=None).order_by("enqueued_at")[0]
    assert queues.oldest_available("default") == first.enqueued_at
