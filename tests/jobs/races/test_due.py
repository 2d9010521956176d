"""Jobs that become due, seen by several loops and FETCHes at once. Spec: contract 2.5."""

from collections import Counter

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.events import Kind
from jobs.domain.states import State
from jobs.models import Event, Later
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.expire import expire
from jobs.services.outcome.promote import promote
from tests.asserts import assert_state, assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import FAR, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

JOBS = 200


def promote_all() -> int:
    return sum(promote(7) for _ in range(JOBS // 7 + 1))


def expire_all() -> int:
    return sum(expire(7) for _ in range(JOBS // 7 + 1))


@spec("contract 2.5")
def test_a_due_job_is_promoted_by_one_of_several_loops() -> None:
    ids = stored_ids(JOBS, scheduled_at=FAR)
    Later.objects.update(due_at=ago(1000))

    promoted = at_once([promote_all, promote_all, promote_all])

    # a loop skips jobs that another loop has locked
    assert sum(promoted) + promote(JOBS) == JOBS
    assert_state(State.AVAILABLE, *ids)
    assert_store_is_sound()


@spec("contract 2.5")
def test_a_due_job_is_promoted_and_claimed_once_while_loops_and_fetches_run() -> None:
    ids = stored_ids(JOBS, scheduled_at=FAR)
    Later.objects.update(due_at=ago(1000))

    def claim() -> list[str]:
        wanted = FetchRequest(("default",), count=9)
        return [job.id for _ in range(JOBS // 9 + 1) for job in fetch(wanted).jobs]

    _, _, *claimed = at_once([promote_all, promote_all, claim, claim])

    assert isinstance(claimed[0], list)
    assert isinstance(claimed[1], list)
    assert max(Counter(claimed[0] + claimed[1]).values(), default=1) == 1
    told = Event.objects.filter(kind=Kind.ENQUEUED)
    assert told.count() == told.values("job_id").distinct().count()
    assert {str(job_id) for job_id in Later.objects.values_list("id", flat=True)} <= {*ids}
    assert_store_is_sound()


@spec("contract 2.5")
def test_a_job_that_is_due_and_expired_is_discarded_once_and_never_offered() -> None:
    ids = stored_ids(JOBS, scheduled_at=FAR, expires_at="2099-01-02T00:00:00Z")
    Later.objects.update(due_at=ago(1000), expires_at=ago(1))

    outcomes = at_once([promote_all, expire_all, expire_all, promote_all])

    assert outcomes[0] == outcomes[3] == 0
    assert outcomes[1] + outcomes[2] + expire(JOBS) == JOBS
    assert_state(State.DISCARDED, *ids)
    assert_store_is_sound()
