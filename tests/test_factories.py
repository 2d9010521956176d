"""Factories and assertions: each state can be requested, and assertions notice wrong data."""

from collections.abc import Callable

import pytest

from jobs.domain.states import State
from jobs.models import Event, Ready
from jobs.models import Job as Row
from jobs.services.outcome.dead_letter import delete
from jobs.services.record.aggregate import aggregate_events
from tests.asserts import (
    assert_depths_equal_recount,
    assert_events_replay,
    assert_rows_stand_for_jobs,
    assert_state,
    assert_store_is_sound,
    assert_times_in_order,
)
from tests.factories import JobFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


@pytest.mark.parametrize("state", State)
@spec("contract 2.1")
def test_a_job_in_each_state_is_sound(state: State) -> None:
    job = JobFactory.create(state=state)

    assert_state(state, job.id)
    assert_times_in_order(job)
    assert_store_is_sound()


def test_all_states_together_aggregated_and_thinned_are_sound() -> None:
    jobs = {state: JobFactory.create(state=state, queue=state.value) for state in State}
    delete(jobs[State.DISCARDED].id)
    while aggregate_events():
        pass

    assert_store_is_sound()


DAMAGE: list[tuple[Callable[[str], object], Callable[[], None]]] = [
    (lambda job_id: Ready.objects.filter(id=job_id).delete(), assert_rows_stand_for_jobs),
    (lambda job_id: Event.objects.filter(job_id=job_id).delete(), assert_depths_equal_recount),
    (lambda job_id: Event.objects.filter(job_id=job_id).delete(), assert_events_replay),
    (lambda job_id: Row.objects.filter(id=job_id).update(state=6), assert_events_replay),
]


@pytest.mark.parametrize(("damage", "notice"), DAMAGE)
def test_a_lie_in_the_store_is_noticed(
    damage: Callable[[str], object], notice: Callable[[], None]
) -> None:
    damage(JobFactory.create().id)

    with pytest.raises(AssertionError):
        notice()
