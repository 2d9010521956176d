"""Reading the event record. Spec: contract 12.3 to 12.5, 25.2, 25.4."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.place import FIRST
from jobs.domain.states import State
from jobs.models import Event
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.nack import Nack, nack
from jobs.services.record.events import (
    EventFilter,
    StoredEvent,
    event_name,
    following,
    history,
    kept,
    latest,
)
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.concurrency import wait_until_complete
from tests.factories import JobFactory, error, stored, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

FINAL = ["job.failed", "job.retry_exhausted", "job.discarded", "job.dead_lettered"]


def names(events: list[StoredEvent]) -> list[str]:
    """Return the public names of events."""
    return [event_name(event) for event in events]


def fail_for_good(**retry: object) -> str:
    """Store a job and let its only attempt fail; return its id."""
    (job,) = stored(1, retry={"max_attempts": 1, **retry})
    fetch(FetchRequest(("default",)))
    nack([Nack(job.id, error())])
    return job.id


@spec("contract 25.2")
def test_a_final_failure_is_told_in_four_steps() -> None:
    job_id = fail_for_good(on_exhaustion="dead_letter")

    events, _ = history(job_id, limit=100)

    assert names(events)[-4:] == FINAL
    assert len({event.id for event in events}) == len(events)


@spec("contract 25.2")
def test_a_failure_without_dead_letter_tells_no_dead_letter() -> None:
    events, _ = history(fail_for_good(on_exhaustion="discard"), limit=100)

    assert names(events)[-3:] == FINAL[:3]


@spec("contract 25.2")
def test_an_error_that_may_not_be_retried_exhausts_nothing() -> None:
    (job,) = stored(1, retry={"max_attempts": 3})
    fetch(FetchRequest(("default",)))
    nack([Nack(job.id, {**error(), "retryable": False})])

    events, _ = history(job.id, limit=100)

    assert "job.retry_exhausted" not in names(events)
    assert "job.discarded" in names(events)


@spec("contract 12.5")
def test_reading_goes_on_behind_each_part_of_a_stored_event() -> None:
    job_id = fail_for_good(on_exhaustion="dead_letter")
    wait_until_complete()
    all_of_it, _ = following(EventFilter(job_id=job_id), FIRST, limit=100)

    for n, event in enumerate(all_of_it):
        rest, has_more = following(EventFilter(job_id=job_id), event.place, limit=100)

        assert [one.id for one in rest] == [one.id for one in all_of_it[n + 1 :]]
        assert not has_more


@spec("contract 12.5")
def test_pages_of_the_latest_events_meet_without_gap_or_overlap() -> None:
    stored(5)
    whole, _ = latest(EventFilter(), limit=100)

    first, has_more = latest(EventFilter(), limit=2)
    second, _ = latest(EventFilter(), limit=2, offset=2)

    assert has_more
    assert [event.id for event in first + second] == [event.id for event in whole[:4]]


@spec("contract 12.5")
def test_types_name_derived_events_too() -> None:
    fail_for_good(on_exhaustion="dead_letter")

    found, _ = latest(EventFilter(types=("job.dead_lettered", "job.retry*")), limit=10)

    assert names(found) == ["job.dead_lettered", "job.retry_exhausted"]


@spec("contract 25.4")
def test_since_and_until_bound_the_time() -> None:
    old = stored_ids(1)[0]
    hour = timedelta(hours=1)
    Event.objects.filter(job_id=old).update(at=timezone.now() - 2 * hour)
    stored_ids(1)

    recent, _ = latest(EventFilter(since=timezone.now() - hour), limit=10)
    early, _ = latest(EventFilter(until=timezone.now() - hour), limit=10)

    assert old not in {event.job_id for event in recent}
    assert {event.job_id for event in early} == {old}


@spec("contract 25.2")
def test_heartbeats_are_told_only_where_the_switch_says_so() -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w")
    heartbeat(Report("w", active_ids=(job.id,)))
    with override_settings(OJS={**settings.OJS, "EVENTS_EXCLUDE": ()}):
        heartbeat(Report("w", active_ids=(job.id,)))
        beats, _ = latest(EventFilter(types=("job.heartbeat", "worker.heartbeat")), limit=10)

    assert sorted(names(beats)) == ["job.heartbeat", "worker.heartbeat"]
    assert {"visible_until"} <= {key for event in beats for key in event.data}


@spec("contract 25.2")
def test_excluded_events_are_not_shown_but_still_counted() -> None:
    job_id = stored_ids(1)[0]
    with override_settings(OJS={**settings.OJS, "EVENTS_EXCLUDE": ("job.enq*",)}):
        shown, _ = history(job_id, limit=10)

    assert shown == []
    assert Event.objects.filter(job_id=job_id, to_state__isnull=False).count() == 1


@spec("contract 25.3")
def test_the_record_has_a_first_and_a_last_place() -> None:
    assert kept() is None

    stored(3)

    ends = kept()
    assert ends is not None
    assert ends[0] < ends[1]


@spec("contract 25.3")
def test_a_resume_reads_changes_of_state_that_have_no_event_of_their_own() -> None:
    (job,) = stored(1)
    fetch(FetchRequest(("default",)))
    nack([Nack(job.id, None, requeue=True)])
    moves = EventFilter(types=("job.state_changed",), job_id=job.id, with_moves=True)

    found, _ = following(moves, FIRST, limit=10, below_horizon=False)
    listed, _ = history(job.id, limit=10)

    assert [event.to_state for event in found] == [3, 4, 3]
    assert names(listed) == ["job.enqueued", "job.started"]
