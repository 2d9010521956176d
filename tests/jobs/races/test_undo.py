"""Operations and their undo, while workers and another operator change the same jobs."""

from collections import Counter
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.outcome.bulk import JobFilter, Verb
from jobs.domain.states import State
from jobs.models import Undo, UndoJob
from jobs.services.audit.undo_log import HEADER, undoable_steps
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate import operate, undo
from jobs.services.operate.queue_move import move_waiting
from jobs.services.operate.queue_removal import purge
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.upkeep.reset import reset
from tests.asserts import assert_store_is_sound, state
from tests.concurrency import at_once, threads
from tests.effort import examples
from tests.factories import FAR, error, stored_ids

pytestmark = pytest.mark.usefixtures("store")
OPERATIONS = ["cancel", "retry", "delete", "purge", "move", "some"]


def fill() -> list[str]:
    """Store jobs in each state that an operation starts from."""
    dead = stored_ids(8, queue="q", retry={"initial_interval": "PT1H", "max_interval": "PT1H"})
    fetch(FetchRequest(("q",), count=8))
    nack([Nack(job_id, error(retryable=n < 4)) for n, job_id in enumerate(dead)])
    return [*dead, *stored_ids(30, queue="q"), *stored_ids(6, queue="q", scheduled_at=FAR)]


def run(name: str, ids: list[str]) -> int | None:
    """Run an operation; return its number, None if it changed no job."""
    who = Caller("ann")
    match name:
        case "purge":
            with undoable_steps(who, "queue.purged", "q"):
                purge("q", [State.AVAILABLE, State.DISCARDED], "ann")
        case "move":
            with undoable_steps(who, "queue.moved", "q"):
                move_waiting("q", "other", most=1000)
        case "some":
            operate.many(Verb.CANCEL, ids[::7], who)
        case _:
            operate.matching(Verb(name), JobFilter(queue="q"), who, most=1000)
    number = who.answer_headers.get(HEADER)
    return None if number is None else int(number)


def work(over: Event) -> Counter[str]:
    """Claim and complete jobs until `over`; count the completions by job."""
    completed: Counter[str] = Counter()
    while not over.is_set():
        jobs = fetch(FetchRequest(("q", "other"), count=2)).jobs
        ended = ack([Ack(job.id) for job in jobs]) if jobs else []
        completed.update(one.id for one in ended if not isinstance(one, Exception))
    return completed


@given(
    chosen=st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=4), other=st.integers(0, 9)
)
@settings(
    max_examples=examples(12), deadline=None, database=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
def test_nothing_is_lost_or_done_twice(chosen: list[str], other: int) -> None:
    reset()
    ids = fill()
    before = {job_id: state(job_id) for job_id in ids}
    over = Event()

    def operators() -> list[int]:
        done = [number for name in chosen if (number := run(name, ids)) is not None]
        for number in reversed(done):
            undo.undo(number, Caller("ann"))
        return done

    with threads(3) as start:
        workers = [start(lambda: work(over)) for _ in range(2)]
        try:
            others = start(lambda: operate.many(Verb.CANCEL, ids[other::10], Caller("ben")))
            numbers = operators()
            others.result()
        finally:
            over.set()
        completed = sum((worker.result() for worker in workers), Counter())

    assert_store_is_sound()
    assert set(Undo.objects.filter(pk__in=numbers).values_list("state", flat=True)) <= {"undone"}
    records = UndoJob.objects.filter(undo_id__in=numbers)
    assert not records.filter(outcome=None).exists()
    left = {
        str(job_id)
        for job_id in records.exclude(outcome="restored").values_list("job_id", flat=True)
    }
    assert max(completed.values(), default=0) <= 1
    for job_id in ids:
        if job_id not in completed and job_id not in left and job_id not in ids[other::10]:
            assert state(job_id) is before[job_id]


def test_of_two_undos_at_once_one_does_the_work() -> None:
    ids = stored_ids(450, queue="q")
    who = Caller("ann")
    operate.matching(Verb.CANCEL, JobFilter(queue="q"), who, most=1000)
    Undo.objects.update(state="undoing", undone_by="ann")
    number = int(who.answer_headers[HEADER])

    def continued() -> int:
        return sum(iter(lambda: undo.go_on(number), 0))

    assert sum(at_once([continued] * 4)) == len(ids)
    assert Undo.objects.get().restored == len(ids)
    assert_store_is_sound()
