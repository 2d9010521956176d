"""Changes to the priority of waiting jobs. Spec: contract 24.1."""

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.record.events import Kind
from jobs.domain.states import State
from jobs.models import Event, Later, Ready
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import lanes
from jobs.services.operate.reprioritize import reprioritize
from jobs.services.outcome.promote import promote
from tests.asserts import assert_rows_stand_for_jobs, assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import JobFactory, stored_ids

pytestmark = pytest.mark.usefixtures("store")


def claimed(count: int = 10) -> list[str]:
    return [job.id for job in fetch(FetchRequest(("default",), count=count)).jobs]


def test_raised_job_is_claimed_first() -> None:
    first, second, third = stored_ids(3)

    job = reprioritize(third, 5, "me")

    assert job.priority == 5
    assert claimed() == [third, first, second]
    assert Event.objects.get(kind=Kind.PRIORITY_CHANGED).data == {"priority": 5, "changed_by": "me"}
    assert_store_is_sound()


def test_lowered_job_queues_behind_its_new_equals() -> None:
    early = stored_ids(1, priority=9)[0]
    later = stored_ids(2)

    reprioritize(early, 0, "me")

    assert claimed() == [*later, early]


@pytest.mark.parametrize("state", [State.SCHEDULED, State.PENDING])
def test_waiting_job_takes_its_new_priority_along(state: State) -> None:
    job = JobFactory.create(state=state)
    other = stored_ids(1)[0]

    reprioritize(job.id, 5, "me")
    Later.objects.filter(kind=1).update(due_at=ago(1000))
    promote()

    assert claimed() == ([job.id, other] if state is State.SCHEDULED else [other])
    assert_rows_stand_for_jobs()


@pytest.mark.parametrize(
    "state", sorted(set(State) - {State.AVAILABLE, State.SCHEDULED, State.PENDING})
)
def test_job_that_does_not_wait_is_refused(state: State) -> None:
    job = JobFactory.create(state=state)

    with pytest.raises(Conflict) as refused:
        reprioritize(job.id, 5, "me")

    assert refused.value.details["current_state"] == state.value


def test_unknown_job_is_not_found() -> None:
    with pytest.raises(NotFound):
        reprioritize("0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55", 5, "me")


def test_lane_that_is_gone_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = stored_ids(1)[0]
    reprioritize(job_id, 5, "me")
    stale = {key: 10**9 for key in lanes._ids if key.priority == 0}
    monkeypatch.setattr(lanes, "_ids", lanes._ids | stale)

    reprioritize(job_id, 0, "me")

    assert claimed() == [job_id]
    assert_store_is_sound()


def test_claims_and_changes_at_once_lose_and_double_nothing() -> None:
    ids = stored_ids(120)

    def change(priority: int) -> int:
        changed = 0
        for job_id in ids:
            try:
                reprioritize(job_id, priority, "me")
            except Conflict:
                continue
            changed += 1
        return changed

    def claim() -> list[str]:
        return [job for _ in range(40) for job in claimed(3)]

    up, down, one, two = at_once([lambda: change(5), lambda: change(-5), claim, claim])

    rest = claimed(200)
    taken = [*one, *two, *rest]  # type: ignore[misc]  # lists of ids
    assert sorted(taken) == sorted(ids)
    assert isinstance(up, int)
    assert isinstance(down, int)
    assert not Ready.objects.exists()
    assert_store_is_sound()
