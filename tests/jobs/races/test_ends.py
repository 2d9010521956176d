"""Each attempt ends exactly once under concurrent verbs. Spec: contract 2.2, 2.7, 9.3, GS-17."""

from collections.abc import Callable
from itertools import combinations_with_replacement
from threading import Event

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, OJSError
from jobs.domain.states import State
from jobs.models import Lease
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.reap import reap
from tests.asserts import assert_store_is_sound, events_of, state
from tests.concurrency import at_once, threads
from tests.factories import error, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

JOBS = 120
Verb = Callable[[list[str]], set[str]]


def _won(ids: list[str], outcomes: list[object]) -> set[str]:
    refused = [outcome for outcome in outcomes if isinstance(outcome, OJSError)]
    assert all(isinstance(outcome, Conflict) for outcome in refused)
    return {
        job_id
        for job_id, outcome in zip(ids, outcomes, strict=True)
        if not isinstance(outcome, OJSError)
    }


def ack_each(ids: list[str]) -> set[str]:
    return _won(ids, [ack([Ack(job_id)])[0] for job_id in ids])


def ack_all(ids: list[str]) -> set[str]:
    return _won(ids, list(ack([Ack(job_id) for job_id in ids])))


def nack_each(ids: list[str]) -> set[str]:
    return _won(ids, [nack([Nack(job_id, error(retryable=False))])[0] for job_id in ids])


def nack_all(ids: list[str]) -> set[str]:
    return _won(ids, list(nack([Nack(job_id, error(retryable=False)) for job_id in ids])))


def cancel_each(ids: list[str]) -> set[str]:
    won = set()
    for job_id in ids:
        try:
            _, previous = cancel(job_id)
        except Conflict:
            continue
        assert previous is State.ACTIVE
        won.add(job_id)
    return won


def reap_all(ids: list[str]) -> set[str]:
    """Reap in small batches, after all leases expired at the last attempt."""
    for _ in ids:
        reap(7)
    ended = events_of(ids)
    return {
        job_id
        for job_id, events in ended.items()
        if any((e.data or {}).get("error", {}).get("code") == "visibility_timeout" for e in events)
    }


VERBS: list[Verb] = [ack_each, ack_all, nack_each, nack_all, cancel_each, reap_all]
PAIRS = [
    pair for pair in combinations_with_replacement(VERBS, 2) if pair != (reap_all, reap_all)
]  # the events do not show which of two reapers ended a job


@pytest.mark.parametrize(("first", "second"), PAIRS)
@spec("contract 2.2")
def test_an_attempt_is_ended_by_exactly_one_of_two(first: Verb, second: Verb) -> None:
    ids = stored_ids(JOBS, retry={"max_attempts": 1})
    fetch(FetchRequest(("default",), count=JOBS))
    Lease.objects.update(lease_until=ago(1))

    one, other = at_once([lambda: first(ids), lambda: second(ids[::-1])])

    assert one | other == set(ids)
    assert not one & other
    assert {state(job_id) for job_id in ids} <= {
        State.COMPLETED, State.DISCARDED, State.CANCELLED,
    }  # fmt: skip
    assert_store_is_sound()


@spec("contract 2.2")
def test_of_all_verbs_at_once_one_ends_each_attempt() -> None:
    ids = stored_ids(JOBS, retry={"max_attempts": 1})
    fetch(FetchRequest(("default",), count=JOBS))
    Lease.objects.update(lease_until=ago(1))

    won = at_once([lambda verb=verb: verb(ids) for verb in VERBS])  # type: ignore[misc]  # binds

    assert sorted(job_id for ended in won for job_id in ended) == sorted(ids)
    assert_store_is_sound()


@spec("contract 9.7")
def test_a_claim_given_back_is_not_completed_as_well() -> None:
    ids = stored_ids(JOBS)
    fetch(FetchRequest(("default",), count=JOBS))

    def requeue() -> set[str]:
        return _won(ids, [nack([Nack(job_id, None, requeue=True)])[0] for job_id in ids])

    given_back, completed = at_once([requeue, lambda: ack_each(ids[::-1])])

    assert given_back | completed == set(ids)
    assert not given_back & completed
    assert {job.id for job in fetch(FetchRequest(("default",), count=JOBS)).jobs} == given_back
    assert_store_is_sound()


@spec("contract 9.3")
def test_a_late_ack_of_an_earlier_attempt_does_not_end_the_next() -> None:
    ids = stored_ids(JOBS)
    fetch(FetchRequest(("default",), count=JOBS))
    Lease.objects.update(lease_until=ago(1))

    over = Event()

    def again() -> None:
        while not over.is_set():
            reap(7)
            fetch(FetchRequest(("default",), count=9))

    with threads(1) as start:
        other = start(again)
        done = _won(ids, [ack([Ack(job_id, attempt=1)])[0] for job_id in ids])
        over.set()
        other.result()

    for job_id, events in events_of(ids).items():
        ended = [event for event in events if event.to_state == 6]
        assert len(ended) == (job_id in done)
        assert all(event.attempt == 1 for event in ended)
    assert_store_is_sound()
