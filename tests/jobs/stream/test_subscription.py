"""The buffer of a client: slow clients and rates. Spec: contract 25.3."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.test import override_settings

from jobs.domain.record.events import Kind
from jobs.domain.record.place import Place, event_id
from jobs.services.record.events import StoredEvent
from jobs.stream.subscription import Scope, SharedEvent, Subscription
from tests.spec import spec

AT = datetime(2026, 5, 4, tzinfo=UTC)


@pytest.fixture
def small() -> Iterator[None]:
    """Limit the buffer to five events and the rate to three events per second."""
    chosen = {**settings.OJS, "STREAM_BUFFER": 5, "STREAM_EVENTS_PER_SECOND": 3}
    with override_settings(OJS=chosen):
        yield


def event(n: int, kind: Kind = Kind.ENQUEUED) -> StoredEvent:
    """Return an event without a job."""
    place = Place(n, n)
    return StoredEvent(
        event_id(place, AT), place, AT, kind, None, "q", "t", "_default", None, None, None, None,
        None, {}, None, None, is_below_horizon=True, unique_key=None,
    )  # fmt: skip


def filled(number: int) -> Subscription:
    """Return a subscription to which `number` events were offered."""
    member = Subscription(Scope(), lambda _event: True)
    for n in range(number):
        member.offer(SharedEvent(event(n)))
    return member


@pytest.mark.usefixtures("small")
@spec("contract 25.3")
def test_a_full_buffer_drops_the_oldest_and_says_which() -> None:
    taken, dropped = filled(8).take(0)

    assert dropped is not None
    assert (dropped.number, dropped.oldest.place.seq, dropped.newest.place.seq) == (3, 0, 2)
    assert taken[0].event.place.seq == 3


@pytest.mark.usefixtures("small")
@spec("contract 25.3")
def test_the_pace_holds_back_what_is_too_much() -> None:
    member = filled(5)

    first, _ = member.take(0)
    second, _ = member.take(0)
    third, _ = member.take(10)

    assert len(first) == 3
    assert second == []
    assert len(third) == 1


@spec("contract 25.3")
def test_only_what_is_wanted_waits() -> None:
    member = Subscription(Scope(), lambda one: one.kind == Kind.COMPLETED)
    member.offer(SharedEvent(event(1)))
    member.offer(SharedEvent(event(2, Kind.COMPLETED)))

    taken, _ = member.take(0)

    assert [told.event.place.seq for told in taken] == [2]


@spec("contract 25.3")
def test_the_end_wakes_the_client_and_what_waits_is_still_taken() -> None:
    member = filled(1)
    member.end("shutdown")

    taken, _ = member.take(60)

    assert len(taken) == 1
    assert member.ended == "shutdown"
