"""Searches for jobs: filters, order, totals, bounds. Spec: contract 24.1."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.domain.states import State
from jobs.models import Job
from jobs.services.read import find as module
from jobs.services.read.find import Wanted, find_jobs, pattern
from tests.factories import JobFactory, stored_ids

pytestmark = pytest.mark.usefixtures("store")


def found(wanted: Wanted, *, offset: int = 0, limit: int = 100) -> list[str]:
    return [job.id for job in find_jobs(wanted, offset=offset, limit=limit).jobs]


@pytest.fixture
def ids() -> dict[State, str]:
    """Store a job in every state, each in its own queue."""
    return {state: JobFactory.create(state=state, queue=state.value).id for state in State}


@pytest.mark.parametrize("state", State)
def test_state_finds_its_jobs(ids: dict[State, str], state: State) -> None:
    listed = find_jobs(Wanted(state=state), offset=0, limit=10)

    assert [job.id for job in listed.jobs] == [ids[state]]
    assert (listed.total, listed.is_estimate) == (1, False)


def test_no_filter_finds_all_newest_first(ids: dict[State, str]) -> None:
    listed = find_jobs(Wanted(), offset=0, limit=10)

    assert [job.id for job in listed.jobs] == sorted(ids.values(), reverse=True)
    assert listed.total == 8


def test_live_leaves_out_what_ended(ids: dict[State, str]) -> None:
    listed = find_jobs(Wanted(is_live=True), offset=0, limit=10)

    assert {job.id for job in listed.jobs} == {
        ids[state] for state in State if state.value not in {"completed", "cancelled", "discarded"}
    }
    assert listed.total == 5


@pytest.mark.parametrize("state", [None, State.AVAILABLE, State.COMPLETED])
def test_pages_join_to_the_whole(state: State | None) -> None:
    for _ in range(7):
        JobFactory.create(state=state or State.AVAILABLE)
    whole = found(Wanted(state=state))

    pages = [found(Wanted(state=state), offset=n, limit=3) for n in (0, 3, 6)]

    assert [job for page in pages for job in page] == whole
    assert found(Wanted(state=state, ascending=True)) == whole[::-1]


@pytest.mark.parametrize("state", [None, State.AVAILABLE])
def test_queue_type_and_tenant_narrow(state: State | None) -> None:
    a = stored_ids(1, queue="a", type="mail.send")[0]
    stored_ids(2, queue="b", type="mail_x")
    Job.objects.filter(id=a).update(tenant="_default")

    assert found(Wanted(state=state, queue="a")) == [a]
    assert found(Wanted(state=state, type=pattern("mail.*"))) == [a]
    assert len(found(Wanted(state=state, tenant="_default"))) == 3
    assert found(Wanted(state=state, tenant="other")) == []


def test_priority_sorts_in_both_directions() -> None:
    low, high, middle = (stored_ids(1, priority=n)[0] for n in (-5, 5, 0))

    assert found(Wanted(sort="priority")) == [high, middle, low]
    by_state = Wanted(state=State.AVAILABLE, sort="priority", ascending=True)
    assert found(by_state) == [low, middle, high]


def test_scheduled_time_sorts_and_those_without_come_last() -> None:
    late, early = (stored_ids(1, scheduled_at=f"20{year}-01-01T00:00:00Z")[0] for year in (90, 80))
    now = stored_ids(1)[0]

    wanted = Wanted(sort="scheduled_at", ascending=True)
    assert found(wanted) == [early, late, now]
    assert found(Wanted(state=State.SCHEDULED, sort="scheduled_at")) == [late, early]


def test_end_sorts_ended_jobs_alone() -> None:
    first, second = (JobFactory.create(state=State.COMPLETED).id for _ in range(2))
    stored_ids(1, queue="b")

    assert found(Wanted(sort="completed_at")) == [second, first]
    assert found(Wanted(sort="completed_at", ascending=True)) == [first, second]


def test_creation_bounds_by_the_id() -> None:
    old = stored_ids(1, id="01000000-0000-7000-8000-000000000001")[0]
    new = stored_ids(1)[0]
    between = datetime.now(UTC) - timedelta(days=1)

    assert found(Wanted(since=between)) == [new]
    assert found(Wanted(until=between)) == [old]
    assert find_jobs(Wanted(until=between), offset=0, limit=1).total == 1


def test_search_beyond_its_bound_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKED_WIDE", 5)
    stored_ids(3, type="rare.type")
    stored_ids(9, type="common.type")

    listed = find_jobs(Wanted(type="rare.type"), offset=0, limit=2)

    assert listed.jobs == []
    assert listed.is_estimate
