"""Tenants that change their isolation model under load lose and repeat no job.

Spec: MT 6, D-MT-6.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.job import Job
from jobs.models import Job as Row
from jobs.models import Lane
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from tenancy.domain.tenant import Definition, TenantLimits
from tenancy.services.tenants import put
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import DraftFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

QUEUES = ("q0", "q1", "q2")
MODELS = ("namespace", "hybrid", "namespace", "shared") * 5
EACH = 60


def take(tenant: str | None, count: int) -> list[Job]:
    """Claim from all queues, for one tenant or for all."""
    return fetch(FetchRequest(QUEUES, count=count, tenant=tenant)).jobs


def produce(tenant: str, made: list[str]) -> None:
    """Enqueue to several queues with several priorities, which also creates lanes."""
    for n in range(EACH):
        draft = DraftFactory.create(queue=QUEUES[n % 3], priority=n % 7, meta={"tenant_id": tenant})
        enqueue([draft])
        made.append(draft.id)


def work(tenant: str | None, done: list[str]) -> None:
    """Claim until no job comes for a while; requeue some jobs at first."""
    idle = 0
    while idle < 20:
        jobs = take(tenant, 3)
        idle = 0 if jobs else idle + 1
        back = jobs[:1] if jobs and len(done) % 5 == 0 and len(done) < 80 else []
        nack([Nack(job.id, None, requeue=True) for job in back])
        ended = [job.id for job in jobs[len(back) :]]
        ack([Ack(job_id) for job_id in ended])
        done += ended


def move(limits: TenantLimits, done: list[str], strayed: list[str]) -> None:
    """Switch the tenant's isolation model repeatedly, and record jobs that left a namespace."""
    for model in MODELS:
        put("acme", Definition(limits=limits, isolation=model))
        for jobs in (take(None, 2), take(None, 2)):
            if model == "namespace":
                strayed += [job.id for job in jobs if job.tenant == "acme"]
            ack([Ack(job.id) for job in jobs])
            done += [job.id for job in jobs]


@pytest.mark.parametrize("limits", [TenantLimits(), TenantLimits(max_concurrency=4)])
@spec("MT-6-a")
def test_tenant_that_moves_between_the_models_loses_nothing(limits: TenantLimits) -> None:
    made: list[str] = []
    done: list[str] = []
    strayed: list[str] = []
    producers = [partial(produce, tenant, made) for tenant in ("acme", "acme", "beta", "acme")]
    workers = [partial(work, tenant, done) for tenant in (None, "acme", None, "acme", "beta")]

    at_once([*producers, *workers, partial(move, limits, done, strayed)])
    put("acme", Definition(limits=limits, isolation="namespace"))
    at_once([partial(work, "acme", done), partial(work, None, done)])

    assert strayed == []
    assert Counter(done) == Counter(made)
    assert Row.objects.filter(state=None).count() == 0
    assert_store_is_sound()


@spec("MT-6.1-a")
def test_lanes_that_are_made_meanwhile_are_where_the_tenant_is() -> None:
    put("acme", Definition())

    def produce_anew(number: int) -> None:
        for n in range(20):
            enqueue([DraftFactory.create(queue=f"q{number}.{n}", meta={"tenant_id": "acme"})])

    def move_often() -> None:
        for model in MODELS[:-1]:
            put("acme", Definition(isolation=model))

    producers: list[Callable[[], None]] = [partial(produce_anew, number) for number in range(6)]
    at_once([*producers, move_often])

    lanes = list(Lane.objects.filter(tenant="acme").values_list("queue", flat=True))
    assert len(lanes) == 120
    assert all(queue.startswith("acme:q") for queue in lanes)
