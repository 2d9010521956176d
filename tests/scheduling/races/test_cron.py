"""An occurrence fires once, under concurrent loops and requests. Spec: contract 7.3, 7.4.

Every test runs on real connections, so the database decides how they affect each other.
"""

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, OJSError
from jobs.domain.states import CODES, State, state_of
from jobs.models import Job, Lease
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.read.clock import now
from jobs.services.read.show import show_many
from scheduling.domain.overlap import Overlap
from scheduling.models import CronEntry, CronRun, CronTurn
from scheduling.services.cron_fire import fire
from scheduling.services.cron_register import Changes, change, delete
from scheduling.services.cron_slots import pass_on_forgotten
from scheduling.services.cron_trigger import trigger
from tests.asserts import assert_store_is_sound, state
from tests.concurrency import at_once, threads, until, wait_until_blocked
from tests.scheduling.conftest import ANYBODY, allow_all, entry, make_due, registered
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

LOOPS, SCHEDULES, ROUNDS = 6, 60, 4


def drain(batch: int) -> int:
    """Fire until no schedule is due."""
    fired = 0
    while count := fire(batch):
        fired += count
    return fired


def runs() -> Counter[str]:
    """Count the jobs of each schedule."""
    return Counter(Job.objects.values_list("meta__cron_name", flat=True))


@spec("contract 7.3")
def test_many_loops_fire_each_occurrence_once() -> None:
    for n in range(SCHEDULES):
        registered(f"n{n}", overlap_policy="allow")
    for _ in range(ROUNDS):
        make_due()
        at_once([partial(drain, 7)] * LOOPS)

    assert runs() == {f"n{n}": ROUNDS for n in range(SCHEDULES)}
    assert set(CronEntry.objects.values_list("run_count", "noted")) == {(ROUNDS, ROUNDS)}
    assert CronRun.objects.count() == SCHEDULES * ROUNDS
    assert_store_is_sound()


def by_hand() -> None:
    """Trigger the schedule repeatedly; its policy may refuse."""
    for _ in range(5):
        with suppress(Conflict):
            trigger("nightly", ANYBODY, allow_all)


def by_time() -> None:
    """Make the schedule due and fire, repeatedly."""
    for _ in range(5):
        at = now() - timedelta(seconds=1)
        CronEntry.objects.update(due_at=at, next_run_at=at)
        fire()


@pytest.mark.parametrize("policy", list(Overlap))
@spec("contract 7.4")
def test_loops_and_triggers_of_one_schedule_follow_each_other(policy: Overlap) -> None:
    registered(overlap_policy=policy)

    at_once([by_hand, by_hand, by_time, by_time])

    jobs = show_many([str(job_id) for job_id in Job.objects.values_list("id", flat=True)])
    states = Counter(state_of(job.state) for job in jobs)
    noted = CronRun.objects.filter(reason=None).order_by("number")
    assert entry().run_count == len(jobs) == len(noted)
    assert (
        states
        == {
            Overlap.SKIP: {State.AVAILABLE: 1},
            Overlap.ALLOW: {State.AVAILABLE: len(jobs)},
            Overlap.CANCEL_PREVIOUS: {State.AVAILABLE: 1, State.CANCELLED: len(jobs) - 1},
            Overlap.ENQUEUE: {State.AVAILABLE: 1, State.PENDING: min(10, len(jobs) - 1)},
        }[policy]
    )
    if policy is Overlap.ENQUEUE:
        assert CronTurn.objects.get().waiting == [run.job_id for run in noted][1:]
    assert_store_is_sound()


class Line:
    """Workers that end runs while loops fire.

    The runs must follow each other one at a time, in order, and none may be forgotten.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.ended: list[str] = []
        self.together: list[list[str]] = []

    def produce(self) -> None:
        """Fire repeatedly."""
        for _ in range(20):
            at = now() - timedelta(seconds=1)
            CronEntry.objects.filter(due_at__gt=at).update(due_at=at, next_run_at=at)
            fire()

    def work(self) -> None:
        """Claim available jobs and complete them."""
        while not self.stop.is_set():
            jobs = [job.id for job in fetch(FetchRequest(("default",), count=5)).jobs]
            active = [str(one) for one in Lease.objects.values_list("id", flat=True)]
            if max(len(jobs), len(active)) > 1:
                self.together.append([*jobs, *active])
            for job_id in jobs:
                self.ended.append(job_id)
                ack([Ack(job_id)])


@spec("contract 7.4")
def test_runs_under_enqueue_never_overlap_and_none_is_forgotten() -> None:
    registered(overlap_policy="enqueue")
    line = Line()

    with threads(4) as start:
        workers = [start(line.work) for _ in range(2)]
        try:
            for producer in [start(line.produce) for _ in range(2)]:
                producer.result()
            until(lambda: not CronTurn.objects.exists())
        finally:
            line.stop.set()
        for worker in workers:
            worker.result()

    assert line.together == []
    noted = CronRun.objects.filter(reason=None).order_by("number")
    assert line.ended == [str(run.job_id) for run in noted]
    assert_store_is_sound()


def in_turn(first: Callable[[], object], second: Callable[[], object]) -> None:
    """Run `first` in a transaction, which commits as soon as `second` waits for it."""
    with threads(1) as start:
        with transaction.atomic():
            first()
            waiting = start(second)
            wait_until_blocked()
        waiting.result()


@spec("contract 7.4")
def test_end_of_a_run_while_the_next_one_is_being_fired_is_seen() -> None:
    registered(overlap_policy="enqueue")
    make_due()
    fire()
    (first,) = [job.id for job in fetch(FetchRequest(("default",))).jobs]
    make_due()

    # the end of the run waits for the transaction that fires
    in_turn(fire, lambda: ack([Ack(first)]))

    assert state(first) is State.COMPLETED
    assert state(str(entry().last_job_id)) is State.AVAILABLE
    assert CronTurn.objects.get().waiting == []


@spec("contract 7.4")
def test_end_of_a_run_that_has_no_turn_yet_is_seen_by_who_fires() -> None:
    registered(overlap_policy="allow")
    make_due()
    fire()
    (first,) = [job.id for job in fetch(FetchRequest(("default",))).jobs]
    change("nightly", Changes(overlap=Overlap.ENQUEUE), ANYBODY, allow_all)
    make_due()

    with threads(1) as start, transaction.atomic():
        fire()  # sees the first run active
        start(lambda: ack([Ack(first)])).result()  # its end finds no overlap slot
        assert state(str(entry().last_job_id)) is State.PENDING

    assert state(str(entry().last_job_id)) is State.AVAILABLE


@spec("contract 7.5")
def test_change_waits_for_a_firing_and_does_not_undo_it() -> None:
    registered()
    make_due()

    in_turn(fire, lambda: change("nightly", Changes(description="x"), ANYBODY, allow_all))

    after = entry()
    assert (after.run_count, after.description) == (1, "x")
    assert after.next_run_at is not None
    assert after.next_run_at > after.now


@spec("contract 7.5")
def test_schedule_that_is_deleted_meanwhile_does_not_fire() -> None:
    registered()
    make_due()

    with threads(1) as start, transaction.atomic():
        delete("nightly", ANYBODY, allow_all)
        assert start(fire).result() == 0  # skipped, because the row is locked

    assert fire() == 0
    assert not Job.objects.exists()


@spec("contract 7.5")
def test_two_that_register_one_name_agree_on_one_schedule() -> None:
    def register() -> int:
        return registered().id

    assert len(set(at_once([register] * 6))) == 1
    assert CronEntry.objects.count() == 1


@spec("contract 7.4")
def test_cancel_previous_against_its_end_makes_one_new_run() -> None:
    registered(overlap_policy="cancel_previous")
    for _ in range(8):
        make_due()
        fire()
        (job,) = fetch(FetchRequest(("default",))).jobs
        make_due()

        with threads(2) as start:
            firing = start(fire)
            outcome = start(partial(ack, [Ack(job.id)])).result()[0]
            firing.result()

        ended = State.CANCELLED if isinstance(outcome, OJSError) else State.COMPLETED
        assert state(job.id) is ended
        assert state(str(entry().last_job_id)) is State.AVAILABLE
        cancel(str(entry().last_job_id))
    assert_store_is_sound()


@spec("contract 7.4")
def test_forgotten_turns_are_passed_on_once_by_many_loops() -> None:
    for n in range(10):
        registered(f"n{n}", overlap_policy="enqueue")
    for _ in range(3):
        make_due()
        fire()
    holders = list(CronTurn.objects.values_list("holder", flat=True))
    # without passing their slots on
    Job.objects.filter(id__in=holders).update(state=CODES[State.CANCELLED])

    passed = sum(at_once([pass_on_forgotten] * 4))

    assert passed == 10
    assert [len(turn.waiting) for turn in CronTurn.objects.all()] == [1] * 10
    connection.close()
