"""Moving the jobs of a queue under load loses and repeats no job. Spec: contract 10.4."""

from collections import Counter
from functools import partial

import pytest

from jobs.domain.access.caller import SYSTEM
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import QueuePaused
from jobs.models import Job, Queue
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes.queue_config import create
from jobs.services.operate import bulk
from jobs.services.operate.queue_removal import delete, drain
from jobs.services.operate.queues import pause
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import DraftFactory, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def produce(queue: str, made: list[str]) -> None:
    """Enqueue until the queue refuses jobs."""
    for n in range(40):
        draft = DraftFactory.create(queue=queue, priority=n % 3)
        try:
            enqueue([draft])
        except QueuePaused:
            return
        made.append(draft.id)


def work(done: list[str]) -> None:
    """Claim from both queues until they stay empty; requeue some jobs at first."""
    idle = 0
    while idle < 20:
        jobs = fetch(FetchRequest(("old", "new"), count=3)).jobs
        idle = 0 if jobs else idle + 1
        back = jobs[:1] if jobs and len(done) % 4 == 0 and len(done) < 60 else []
        nack([Nack(job.id, None, requeue=True) for job in back])
        ended = [job.id for job in jobs[len(back) :]]
        ack([Ack(job_id) for job_id in ended])
        done += ended


def move(moved: list[int]) -> None:
    """Delete the queue and move its jobs to the other queue."""
    moved.append(delete("old", "move", "test", "new").jobs_affected)
    for _ in range(30):
        drain()


@spec("contract 10.4")
def test_every_job_is_done_once_while_its_queue_is_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk, "SLICE", 7)
    create("new", {}, SYSTEM)
    made = stored_ids(150, queue="old")
    later = stored_ids(10, queue="old", scheduled_at="+PT1H")  # only the move touches them
    done: list[str] = []
    moved: list[int] = []
    producers = [partial(produce, queue, made) for queue in ("old", "new", "old", "new")]

    at_once([*producers, *[partial(work, done)] * 6, partial(move, moved)])
    while drain():
        pass
    at_once([partial(work, done)] * 2)

    assert Counter(done) == Counter(made)
    assert Job.objects.filter(state=None, queue="new").count() == len(later)
    assert Job.objects.filter(state=None).count() == len(later)
    assert not Queue.objects.filter(name="old").exists()
    assert moved[0] >= len(later)
    assert_store_is_sound()


@spec("contract 10.4")
def test_two_movers_and_paused_workers_move_each_job_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk, "SLICE", 5)
    create("new", {}, SYSTEM)
    pause("new")
    ids = stored_ids(120, queue="old") + stored_ids(30, queue="old", scheduled_at="+PT1H")
    moved: list[int] = []

    at_once(
        [lambda: moved.append(delete("old", "move", "test", "new").jobs_affected), drain, drain]
    )
    drain()

    assert Job.objects.filter(queue="new").count() == len(ids)
    assert not Queue.objects.filter(name="old").exists()
    assert_store_is_sound()
