"""The health of a region: the inputs that count. ADR 23; spec: federation 4.2, contract 23.4."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from jobs import queries
from jobs.loops import all_loops
from jobs.models import LoopTick, Worker
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.federation.stub import Stub
from tests.federation.wire import answer, federate, place, send

pytestmark = pytest.mark.usefixtures("store", "ticking")


@pytest.fixture
def ticking(store: None) -> Iterator[None]:
    """Record a recent run of every loop."""
    for loop in all_loops():
        queries.tick(loop.name)
    yield
    LoopTick.objects.all().delete()


def test_pinned_job_is_taken_where_most_workers_are_silent(
    stubs: Callable[..., list[Stub]],
) -> None:
    """The job waits for a worker there: no other region may run it."""
    federate(*stubs("eu"))
    for worker in ("w1", "w2", "w3"):
        heartbeat(Report(worker))
    Worker.objects.exclude(id="w3").update(last_heartbeat_at=Now() - timedelta(seconds=60))

    assert place(region="us")["federation"]["target_region"] == "us"
    found = answer(send("GET", "health"))
    assert (found["status"], found["workers"]["stale"]) == ("ok", 2)


def test_pinned_job_is_refused_where_jobs_would_not_start(
    stubs: Callable[..., list[Stub]],
) -> None:
    federate(*stubs("eu"))
    LoopTick.objects.filter(name="promote").update(ticked_at=Now() - timedelta(seconds=16))

    refused = place(503, region="us")["error"]

    assert refused["code"] == "federation_region_unavailable"
    assert answer(send("GET", "health"))["status"] == "degraded"
