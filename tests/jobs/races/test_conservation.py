"""No FETCH stays empty while a job could start, under load. Spec: fair scheduling 4.4, 5."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Hold, Lane, Lease
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import lanes
from jobs.services.lanes.queue_config import configure
from jobs.services.outcome.ack import Ack, ack
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import DraftFactory, stored_ids

pytestmark = pytest.mark.usefixtures("store")

ROUNDS = 4
FULL = {"key": "full", "concurrency": 1, "scope": "global"}
SOME = {"key": "some", "concurrency": 5, "scope": "global"}


def store(number: int, tenants: int, **envelope: Any) -> None:
    """Store `number` jobs for each tenant; each tenant has a lane."""
    drafts = [DraftFactory.create(**envelope) for _ in range(number * tenants)]
    enqueue([replace(draft, tenant=f"t{n % tenants}") for n, draft in enumerate(drafts)])


def one(*queues: str) -> list[str]:
    """Fetch at most one job and return its id in a list."""
    return [job.id for job in fetch(FetchRequest(queues, 1)).jobs]


def everybody_gets_one(number: int, *queues: str) -> None:
    """Check that each of `number` fetchers gets one job, and a further fetcher none."""
    orders = [queues, queues[::-1]]
    found = at_once([partial(one, *orders[n % 2]) for n in range(number)])

    assert [len(ids) for ids in found] == [1] * number
    assert one(*queues) == []
    ack([Ack(job_id) for ids in found for job_id in ids])


def behind_full_lanes() -> None:
    """Store lanes of a full limit before lanes with room and lanes without limits."""
    store(3, 12, queue="a", priority=9, rate_limit=FULL)
    store(3, 12, queue="a", rate_limit=FULL)
    store(3, 6, queue="a", rate_limit=SOME)
    store(3, 6, queue="b", priority=5, rate_limit=SOME)


def under_caps() -> None:
    """Store jobs of tenants with a cap each, at several priorities."""
    for n in range(5):
        lanes.set_weight_and_cap(f"t{n}", weight=1 + n, cap=1)
    store(8, 5, queue="a", priority=5)
    store(8, 5, queue="b")


def under_limits_of_queues() -> None:
    """Store queues with a limit each, and a lane of a full limit before the other lanes."""
    for queue in ("a", "b"):
        configure(queue, {"concurrency": 3})
        store(2, 4, queue=queue, priority=9, rate_limit={**FULL, "concurrency": 0})
        store(20, 1, queue=queue)


@pytest.mark.parametrize(
    ("fill", "most"), [(behind_full_lanes, 6), (under_caps, 5), (under_limits_of_queues, 6)]
)
def test_as_many_fetchers_as_limits_have_room_all_get_a_job(
    fill: Callable[[], None], most: int
) -> None:
    fill()

    for _ in range(ROUNDS):
        everybody_gets_one(most, "a", "b")

    assert not Hold.objects.exists()
    assert_store_is_sound()


def test_a_claim_of_one_job_looks_behind_any_number_of_full_lanes() -> None:
    """Check lanes that share a limit and lanes with a limit each.

    No lane is marked as blocked before.
    """
    for n in range(70):
        lanes.set_weight_and_cap(f"t{n}", weight=1, cap=0)
    store(1, 70, priority=5)
    store(2, 150, rate_limit={**FULL, "concurrency": 0})
    Lane.objects.update(blocked_by=None)
    last = stored_ids(1, priority=-5)

    assert one("default") == last
    assert one("default") == []


def test_a_job_behind_a_lane_that_others_are_at_work_on_is_reached() -> None:
    store(40, 3, rate_limit={**SOME, "concurrency": 200})
    free = stored_ids(40)

    def work() -> int:
        return sum(len(one("default")) for _ in range(10))

    got = at_once([work] * 16)

    assert got == [10] * 16
    assert Lease.objects.filter(id__in=free).count() == 40
    assert_store_is_sound()
