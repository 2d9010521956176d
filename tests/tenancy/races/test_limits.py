"""Limits of tenants under many clients: never exceeded. Spec: MT 8, contract 21.2."""

from collections import Counter
from contextlib import suppress
from functools import partial

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import OJSError
from jobs.domain.record.events import Kind
from jobs.models import Event, Job, Ready
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from tenancy.domain.errors import TenantLimitExceeded
from tenancy.domain.tenant import Definition, Rate, TenantLimits
from tenancy.models import Enqueued, Tenant
from tenancy.services.tenants import put
from tests.concurrency import at_once
from tests.factories import FAR, DraftFactory
from tests.spec import spec
from tests.tenancy.wire import event_data

pytestmark = pytest.mark.usefixtures("store")

CLIENTS, EACH, MOST = 32, 3, 40
STARTED, LEFT_ACTIVE = 3, 4  # Event.kind, Event.from_state


def send_all(tenants: tuple[str, ...] = ("blue",), **envelope: object) -> Counter[str]:
    """Enqueue from many clients at once; count the accepted jobs, and the refusals by code."""

    def work() -> Counter[str]:
        found: Counter[str] = Counter()
        for _ in range(EACH):
            drafts = [DraftFactory.create(meta={"tenant_id": one}, **envelope) for one in tenants]
            try:
                enqueue(drafts)
            except OJSError as problem:
                found[problem.code] += 1
            else:
                found["taken"] += len(drafts)
        return found

    return sum(at_once([work] * CLIENTS), Counter())


@pytest.mark.parametrize(
    "limits",
    [
        TenantLimits(max_queue_depth=MOST),
        TenantLimits(max_scheduled=MOST),
        TenantLimits(max_enqueue_rate=Rate(MOST, 3_600_000)),
    ],
    ids=["depth", "scheduled", "rate"],
)
@spec("MT-8.2-a")
def test_hard_quota_is_reached_exactly(limits: TenantLimits) -> None:
    put("blue", Definition(limits=limits))

    found = send_all(scheduled_at=FAR)

    assert found == {"taken": MOST, "TENANT_LIMIT_EXCEEDED": CLIENTS * EACH - MOST}
    assert Job.objects.count() == MOST
    assert sum(Enqueued.objects.values_list("jobs", flat=True)) in {0, MOST}


@spec("MT-8.2-a")
def test_queues_are_never_more_than_the_quota() -> None:
    put("blue", Definition(limits=TenantLimits(max_queues=3)))

    def work(n: int) -> None:
        with suppress(TenantLimitExceeded):
            enqueue([DraftFactory.create(meta={"tenant_id": "blue"}, queue=f"q{n}")])

    at_once([partial(work, n) for n in range(CLIENTS)])

    assert len(set(Job.objects.values_list("queue", flat=True))) == 3


@spec("MT-8.2-a")
def test_batches_of_several_tenants_neither_exceed_nor_deadlock() -> None:
    for tenant in ("blue", "red", "green"):
        put(tenant, Definition(limits=TenantLimits(max_queue_depth=MOST)))

    found = send_all(("green", "blue", "red", "blue"))

    by_tenant = Counter(Job.objects.values_list("tenant", flat=True))
    assert by_tenant == {"blue": MOST, "red": MOST // 2, "green": MOST // 2}
    assert set(found) == {"taken", "TENANT_LIMIT_EXCEEDED"}


@spec("MT-8.1-b")
def test_active_jobs_never_exceed_the_concurrency() -> None:
    put("blue", Definition(limits=TenantLimits(max_concurrency=3)))
    for n in range(4):
        drafts = [
            DraftFactory.create(queue=f"q{n % 2}", priority=n, meta={"tenant_id": "blue"})
            for _ in range(25)
        ]
        enqueue(drafts)

    def work() -> None:
        while Ready.objects.exists():
            jobs = fetch(FetchRequest(("q0", "q1"), count=2)).jobs
            ack([Ack(job.id) for job in jobs])

    at_once([work] * CLIENTS)

    active = most = 0
    for kind, before in Event.objects.order_by("stamp", "seq").values_list("kind", "from_state"):
        active += (kind == STARTED) - (before == LEFT_ACTIVE)
        most = max(most, active)
    assert most <= 3


@spec("D-MT-5")
def test_tenant_that_many_bring_at_once_is_made_once() -> None:
    found = send_all(("new",))

    assert found == {"taken": CLIENTS * EACH}
    assert Tenant.objects.get().source == "auto"
    assert event_data(Kind.TENANT_CREATED) == [{"tenant_id": "new", "source": "auto"}]


@spec("MT-15.1-c")
def test_limit_that_is_set_meanwhile_holds_from_its_commit_on() -> None:
    def limit() -> Counter[str]:
        put("blue", Definition(limits=TenantLimits(max_queue_depth=0)))
        stored = Job.objects.count()
        return Counter({"before": stored})

    def work() -> Counter[str]:
        return send_all_here()

    found = sum(at_once([limit, *[work] * 15]), Counter())

    assert Job.objects.count() == found["taken"] <= found["before"] + 15


def send_all_here() -> Counter[str]:
    """Enqueue from this thread until a job is refused, at most a hundred."""
    found: Counter[str] = Counter()
    for _ in range(100):
        try:
            enqueue([DraftFactory.create(meta={"tenant_id": "blue"})])
        except OJSError as problem:
            found[problem.code] += 1
            break
        found["taken"] += 1
    return found
