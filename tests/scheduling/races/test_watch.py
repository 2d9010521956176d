"""Concurrent watch loops report each event once. Spec: contract 20.6."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import F

from jobs.models import Event
from jobs.services.record import dispatches
from scheduling.domain.pool_request import parse_pool
from scheduling.models import Overload, QueueWatch
from scheduling.services import pools
from scheduling.services import watch as module
from scheduling.services.watch import watch
from tests.concurrency import at_once, threads
from tests.factories import stored_ids
from tests.scheduling.conftest import event_data
from tests.scheduling.pools import taken
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

STARVED, OVERLOADED = 90, 91
QUEUES = ("a", "b", "c")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report an overload at most once an hour, so that no test depends on its own duration."""
    monkeypatch.setattr(module, "QUIET", timedelta(hours=1))


def prepare() -> None:
    """Define a full pool whose queues have waited for long."""
    body = {"queues": [*QUEUES, "d"], "concurrency": 1,
            "starvation_prevention": {"rotation_interval": "PT1H"}}  # fmt: skip
    pools.put(parse_pool("p", body))
    stored_ids(1, queue="d")
    assert len(taken(1, pool="p")) == 1
    for queue in QUEUES:
        stored_ids(2, queue=queue)
    watch()
    QueueWatch.objects.update(since=F("since") - timedelta(minutes=61))
    Overload.objects.update(told_at=F("told_at") - timedelta(minutes=61))
    Event.objects.filter(kind=OVERLOADED).delete()


@spec("FS-11.1-a")
def test_many_loops_tell_of_an_episode_once() -> None:
    prepare()

    numbers = at_once([watch] * 8)

    assert sum(numbers) == len(QUEUES) + 1
    assert len(event_data(STARVED)) == len(QUEUES)
    assert len(event_data(OVERLOADED)) == 1


def test_a_look_leaves_another_one_alone() -> None:
    prepare()
    with transaction.atomic():
        assert dispatches.watches_alone()
        with threads(1) as start:
            assert start(watch).result() == 0
    assert not event_data(STARVED)

    assert watch() == len(QUEUES) + 1


@spec("FS-11.1-a")
def test_what_a_killed_loop_had_not_committed_is_told_by_the_next() -> None:
    prepare()
    transaction.set_autocommit(False)
    assert watch() == len(QUEUES) + 1
    connection.close()  # as if the process had been killed
    assert not event_data(STARVED)

    assert watch() == len(QUEUES) + 1
    assert watch() == 0
    assert len(event_data(STARVED)) == len(QUEUES)
