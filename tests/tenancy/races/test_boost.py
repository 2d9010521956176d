"""Boosts that change under load. Spec: MT 8.1, 15.1."""

from collections import Counter
from itertools import count

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Job, Lane
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from tenancy.domain.tenant import Definition
from tenancy.services.tenants import put
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import DraftFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

TENANTS = ("blue", "red", "green")
CHANGES, EACH, PRODUCERS = 12, 20, 2


@spec("MT-8.1-f")
def test_every_job_is_handed_out_once_while_boosts_change() -> None:
    left = count()
    got: list[str] = []

    def produce() -> None:
        for n in range(EACH):
            enqueue([
                DraftFactory.create(queue="q", meta={"tenant_id": one}, priority=n % 3)
                for one in TENANTS
            ])  # fmt: skip

    def change() -> None:
        for n in range(CHANGES):
            put(TENANTS[n % 3], Definition(boost=n % 5 - 2))
        put("blue", Definition(boost=7))

    def work() -> None:
        while next(left) < 200:
            found = [job.id for job in fetch(FetchRequest(("q",), 3)).jobs]
            got.extend(found)
            ack([Ack(job_id) for job_id in found])

    at_once([produce] * PRODUCERS + [change] + [work] * 4)
    work_off(got)

    assert len(got) == EACH * PRODUCERS * len(TENANTS) == Job.objects.count()
    assert set(Counter(got).values()) == {1}
    assert_store_is_sound()
    for lane in Lane.objects.filter(tenant="blue"):
        assert (lane.boost, lane.rank) == (7, -7 - lane.priority)


def work_off(got: list[str]) -> None:
    """Claim and complete the remaining jobs."""
    while found := [job.id for job in fetch(FetchRequest(("q",), 50)).jobs]:
        got.extend(found)
        ack([Ack(job_id) for job_id in found])
