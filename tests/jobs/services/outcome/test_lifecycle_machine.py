"""All verbs in any order, compared with an in-memory model of the contract.

After each step the store must agree with the model. Narrow rows, the index of ended jobs, counts
and events must agree with each other. Spec: contract 2, 5.4, 9, 10.1.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

import orjson
import pytest
from django.conf import settings as django_settings
from django.db.models import F
from django.test import override_settings
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from jobs import queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, Duplicate, NotFound, OJSError
from jobs.domain.states import TERMINAL, WAITING, State, state_of
from jobs.domain.wire.ids import new_id
from jobs.models import Finished, Later, Lease, Ready, Worker
from jobs.models import Job as Row
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.operate.queues import pause, resume
from jobs.services.outcome import dead_letter
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.activate import activate
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.expire import expire
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.progress import Progress, report
from jobs.services.outcome.promote import promote
from jobs.services.outcome.reap import reap, reap_dead_workers
from jobs.services.outcome.retain import Retainer
from jobs.services.record.aggregate import aggregate_events
from jobs.services.upkeep.heal import heal
from jobs.services.upkeep.reset import reset
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.asserts import assert_refused, assert_store_is_sound, assert_times_in_order
from tests.concurrency import wait_until_complete
from tests.effort import examples
from tests.factories import FAR, DraftFactory, error

HOUR_MS = 3_600_000
QUEUES = ("a", "b")
WORKERS = ("w1", "w2", None)
FORMS: dict[str, tuple[dict[str, Any], State]] = {
    "now": ({}, State.AVAILABLE),
    "past": ({"scheduled_at": "2020-01-01T00:00:00Z"}, State.AVAILABLE),
    "expiring": ({"expires_at": "+PT1H"}, State.AVAILABLE),
    "scheduled": ({"scheduled_at": FAR}, State.SCHEDULED),
    "pending": ({"pending": True}, State.PENDING),
    "pending and scheduled": ({"pending": True, "scheduled_at": FAR}, State.PENDING),
}
ERRORS = {
    "plain": error(),
    "final": error(retryable=False),
    "listed": error(type="Auth.Expired"),
    "DISCARD": error(code="DISCARD"),
    "DEAD_LETTER": error(code="DEAD_LETTER"),
    "RETRY": error(code="RETRY", type="Auth.Expired", retryable=False),
}


@dataclass
class Known:
    """The model's state of a job."""

    id: str
    queue: str
    priority: int
    max_attempts: int
    on_exhaustion: str
    state: State
    is_ahead: bool = False  # its scheduled_at is in the future
    turn: int = 0  # position: number of entries into available, over all jobs
    due: int | None = None  # position among due jobs; None until the job is due
    is_expired: bool = False
    attempt: int = 0
    failures: int = 0
    worker: str | None = None
    dead_letter: bool | None = None

    @property
    def spent(self) -> bool:
        """Whether no attempt remains."""
        return self.attempt >= self.max_attempts


class Lifecycle(RuleBasedStateMachine):
    """Verbs as rules; the number `pick` selects a job among the candidates of a rule."""

    def __init__(self) -> None:
        super().__init__()
        reset()
        self.jobs: dict[str, Known] = {}
        self.turns = count(1)
        self.dues = count(1)
        self.paused: set[str] = set()
        self.beating: set[str] = set()

    # --- model ------------------------------------------------------------------------------------

    def among(self, *states: State) -> list[Known]:
        """Return the jobs in these states, oldest first."""
        return [job for job in self.jobs.values() if job.state in states]

    def available(self, job: Known) -> None:
        """Enter available."""
        job.state, job.turn, job.worker, job.due = State.AVAILABLE, next(self.turns), None, None

    def returned(self, job: Known) -> None:
        """Enter available again after a claim, in the old place."""
        job.state, job.worker = State.AVAILABLE, None

    def ended(self, job: Known, state: State, *, dead: bool | None = None) -> None:
        """Enter a terminal state."""
        job.state, job.worker, job.due, job.dead_letter = state, None, None, dead

    def failed(self, job: Known, kind: str) -> None:
        """Apply contract 5.4."""
        job.failures += 1
        job.worker = None
        flagged = job.on_exhaustion == "dead_letter"
        if kind in {"DISCARD", "DEAD_LETTER"}:
            self.ended(job, State.DISCARDED, dead=kind == "DEAD_LETTER")
        elif kind in {"final", "listed"} or job.spent:
            self.ended(job, State.DISCARDED, dead=flagged)
        else:
            job.state = State.RETRYABLE

    def lost(self, jobs: Iterable[Known]) -> None:
        """Apply contract 9.3: available at once in the old place, or discarded."""
        for job in jobs:
            job.failures += 1
            if job.spent:
                self.ended(job, State.DISCARDED, dead=job.on_exhaustion == "dead_letter")
            else:
                self.returned(job)

    def promoted(self) -> None:
        """Make all due jobs available."""
        due = [job for job in self.jobs.values() if job.due is not None and not job.is_expired]
        for job in sorted(due, key=lambda one: (one.due, one.id)):
            self.available(job)

    def line(self, queue: str) -> list[Known]:
        """Return the jobs that a FETCH may take from a queue, in order."""
        if queue in self.paused:
            return []
        waiting = [
            job for job in self.among(State.AVAILABLE) if job.queue == queue and not job.is_expired
        ]
        return sorted(waiting, key=lambda job: (-job.priority, job.turn))

    def claimed(self, queues: Iterable[str], number: int, worker: str | None) -> list[str]:
        """Take up to `number` jobs and return their ids."""
        taken = [job for queue in queues for job in self.line(queue)][:number]
        for job in taken:
            job.state, job.worker = State.ACTIVE, worker
            job.attempt += 1
        return [job.id for job in taken]

    # --- enqueue ----------------------------------------------------------------------------------

    def draft(self, form: str, queue: str, priority: int, attempts: int, fate: str) -> Known:
        """Plan a job, which `self.store` then stores."""
        state = FORMS[form][1]
        is_ahead = "scheduled" in form
        return Known(new_id(), queue, priority, attempts, fate, state, is_ahead=is_ahead)

    def store(self, planned: list[tuple[str, Known]]) -> None:
        """Enqueue with a single call."""
        drafts = [
            DraftFactory.create(
                id=job.id, queue=job.queue, priority=job.priority, **FORMS[form][0],
                retry={
                    "max_attempts": job.max_attempts, "on_exhaustion": job.on_exhaustion,
                    "initial_interval": "PT1H", "non_retryable_errors": ["Auth.*"],
                },
            )
            for form, job in planned
        ]  # fmt: skip
        enqueue(drafts)
        for _, job in planned:
            self.jobs[job.id] = job
            if job.state is State.AVAILABLE:
                self.available(job)

    @rule(
        forms=st.lists(st.sampled_from(sorted(FORMS)), min_size=1, max_size=3),
        queue=st.sampled_from(QUEUES),
        priority=st.integers(-1, 1),
        attempts=st.integers(0, 3),
        fate=st.sampled_from(["discard", "dead_letter"]),
    )
    def push(self, forms: list[str], queue: str, priority: int, attempts: int, fate: str) -> None:
        """Enqueue a job or a batch."""
        self.store([(form, self.draft(form, queue, priority, attempts, fate)) for form in forms])

    @precondition(lambda self: self.jobs)
    @rule(pick=st.integers(0, 99), first=st.booleans())
    def push_used_id(self, pick: int, first: bool) -> None:
        """Enqueue a batch with an id that is taken: no job is stored."""
        taken = DraftFactory.create(id=self.pick(pick, *State).id)
        batch = [taken, DraftFactory.create()] if first else [DraftFactory.create(), taken]
        with pytest.raises(Duplicate) as refused:
            enqueue(batch)
        assert refused.value.details["existing_job_id"] == taken.id

    # --- workers ----------------------------------------------------------------------------------

    @rule(
        queues=st.permutations(QUEUES),
        number=st.integers(1, 4),
        worker=st.sampled_from(WORKERS),
    )
    def fetch(self, queues: list[str], number: int, worker: str | None) -> None:
        """Check that FETCH hands out the jobs of the model, in its order."""
        found = fetch(FetchRequest(tuple(queues), number, worker)).jobs
        expected = self.claimed(queues, number, worker)
        if len(expected) < number:  # a claim with room promotes due jobs
            self.promoted()
            expected += self.claimed(queues, number - len(expected), worker)
        assert [job.id for job in found] == expected
        assert all(job.attempt == self.jobs[job.id].attempt for job in found)

    def pick(self, number: int, *states: State) -> Known:
        """Choose a job in one of these states."""
        found = self.among(*states)
        return found[number % len(found)]

    def answer(self, job: Known, give: Callable[[str | None], Any], claims: str | None) -> bool:
        """Answer for a job as worker `claims`; return whether the server must accept."""
        outcome = give(claims)
        if job.state is not State.ACTIVE:
            assert_refused(outcome, Conflict, current_state=job.state.value)
            return False
        if claims is not None and job.worker not in {None, claims}:
            assert_refused(outcome, Conflict, reason="lease_lost")
            return False
        assert not isinstance(outcome, OJSError), outcome
        return True

    @precondition(lambda self: self.among(State.ACTIVE))
    @rule(pick=st.integers(0, 99), claims=st.sampled_from(WORKERS), result=st.booleans())
    def ack(self, pick: int, claims: str | None, result: bool) -> None:
        """ACK as the holder, as another worker, or without a worker."""
        job = self.pick(pick, State.ACTIVE)
        text = b'{"rows": 1}' if result else None
        if self.answer(job, lambda worker: ack([Ack(job.id, text, worker)])[0], claims):
            self.ended(job, State.COMPLETED)

    @precondition(lambda self: self.among(State.ACTIVE))
    @rule(
        pick=st.integers(0, 99),
        claims=st.sampled_from(WORKERS),
        kind=st.sampled_from(sorted(ERRORS)),
    )
    def nack(self, pick: int, claims: str | None, kind: str) -> None:
        """FAIL with every kind of error."""
        job = self.pick(pick, State.ACTIVE)
        fail = ERRORS[kind]
        if self.answer(job, lambda worker: nack([Nack(job.id, fail, worker_id=worker)])[0], claims):
            self.failed(job, kind)

    @precondition(lambda self: self.among(State.ACTIVE))
    @rule(pick=st.integers(0, 99), claims=st.sampled_from(WORKERS))
    def requeue(self, pick: int, claims: str | None) -> None:
        """Requeue a job."""
        job = self.pick(pick, State.ACTIVE)
        if self.answer(
            job, lambda w: nack([Nack(job.id, None, requeue=True, worker_id=w)])[0], claims
        ):
            job.attempt -= 1
            self.returned(job)

    @precondition(lambda self: len(self.among(State.ACTIVE)) > 1)
    @rule(pick=st.integers(0, 99))
    def answer_many(self, pick: int) -> None:
        """Answer in batches: complete a job, fail a job, and name a job that has ended."""
        first = self.pick(pick, State.ACTIVE)
        second = self.pick(pick + 1, State.ACTIVE)
        done = ack([Ack(first.id), Ack(new_id())])
        over = nack([Nack(first.id, error()), Nack(second.id, error())])
        assert not isinstance(done[0], OJSError)
        assert_refused(done[1], NotFound)
        assert_refused(over[0], Conflict)
        assert not isinstance(over[1], OJSError)
        self.ended(first, State.COMPLETED)
        self.failed(second, "plain")

    @precondition(lambda self: self.among(*(set(State) - {State.ACTIVE})))
    @rule(pick=st.integers(0, 99), claims=st.sampled_from(WORKERS))
    def answer_too_late(self, pick: int, claims: str | None) -> None:
        """ACK and FAIL for jobs that are not active are refused and change nothing."""
        job = self.pick(pick, *(set(State) - {State.ACTIVE}))
        self.answer(job, lambda worker: ack([Ack(job.id, None, worker)])[0], claims)
        self.answer(job, lambda worker: nack([Nack(job.id, error(), worker_id=worker)])[0], claims)

    @rule(pick=st.integers(0, 99), number=st.integers(0, 5), worker=st.sampled_from(WORKERS[:2]))
    def beat(self, pick: int, number: int, worker: str) -> None:
        """A heartbeat extends the worker's leases and reports cancelled jobs."""
        jobs = list(self.jobs.values())
        named = [jobs[(pick + n) % len(jobs)] for n in range(number)] if jobs else []
        told = heartbeat(Report(worker, active_ids=tuple(job.id for job in named)))
        held = {job.id for job in named if job.state is State.ACTIVE}
        extended = {job_id for job_id in held if self.jobs[job_id].worker in {None, worker}}
        assert set(told.extended) == extended
        assert set(told.cancelled) == {j.id for j in named if j.state is State.CANCELLED}
        self.beating.add(worker)

    @precondition(lambda self: self.jobs)
    @rule(pick=st.integers(0, 99), fraction=st.floats(0, 1))
    def progress(self, pick: int, fraction: float) -> None:
        """Only active jobs accept progress."""
        job = self.pick(pick, *State)
        assert report(job.id, Progress(fraction)) is (job.state is State.ACTIVE)

    # --- time -------------------------------------------------------------------------------------

    @precondition(lambda self: self.among(State.SCHEDULED, State.RETRYABLE))
    @rule(pick=st.integers(0, 99))
    def time_comes(self, pick: int) -> None:
        """A scheduled or retryable job becomes due."""
        job = self.pick(pick, State.SCHEDULED, State.RETRYABLE)
        job.due = next(self.dues)
        Later.objects.filter(id=job.id).update(due_at=ago(HOUR_MS - job.due))

    @rule()
    def promote(self) -> None:
        """Due jobs that have not expired become available."""
        due = [job for job in self.jobs.values() if job.due is not None and not job.is_expired]
        assert promote() == len(due)
        self.promoted()

    @precondition(lambda self: self.among(*(set(State) - TERMINAL)))
    @rule(pick=st.integers(0, 99))
    def expiry_passes(self, pick: int) -> None:
        """The expiry of a live job passes."""
        job = self.pick(pick, *(set(State) - TERMINAL))
        job.is_expired = True
        for table in (Row, Ready, Later):
            table.objects.filter(id=job.id).update(expires_at=ago(1))

    @rule()
    def expire(self) -> None:
        """Expired jobs that wait are discarded; active jobs continue."""
        late = [job for job in self.among(*WAITING) if job.is_expired]
        assert expire() == len(late)
        for job in late:
            self.ended(job, State.DISCARDED, dead=False)

    @precondition(lambda self: self.among(State.ACTIVE))
    @rule(pick=st.integers(0, 99))
    def lease_ends(self, pick: int) -> None:
        """A lease expires: the job is available at once while attempts remain."""
        job = self.pick(pick, State.ACTIVE)
        Lease.objects.filter(id=job.id).update(lease_until=ago(1))
        assert reap() == 1
        self.lost([job])

    @precondition(lambda self: self.among(State.ACTIVE))
    @rule(pick=st.integers(0, 99))
    def execution_ends(self, pick: int) -> None:
        """An execution times out, which counts as a failure with backoff; it precedes the lease."""
        job = self.pick(pick, State.ACTIVE)
        Lease.objects.filter(id=job.id).update(timeout_at=ago(2), lease_until=ago(1))
        assert reap() == 1
        self.failed(job, "plain")

    @rule(worker=st.sampled_from(WORKERS[:2]))
    def worker_falls_silent(self, worker: str) -> None:
        """A worker that sent a heartbeat dies and loses its jobs.

        Jobs of other workers keep their leases.
        """
        Worker.objects.filter(id=worker).exclude(last_heartbeat_at=None).update(
            last_heartbeat_at=ago(HOUR_MS)
        )
        held = [job for job in self.among(State.ACTIVE) if job.worker == worker]
        if worker not in self.beating:
            assert reap_dead_workers() == 0
            return
        span = timedelta(milliseconds=HOUR_MS)
        Lease.objects.filter(worker_id=worker).update(
            started_at=F("started_at") - span, enqueued_at=F("enqueued_at") - span
        )
        Row.objects.filter(id__in=[job.id for job in held]).update(
            created_at=F("created_at") - span, activated_at=F("activated_at") - span
        )
        # marked dead once; a later sign of life, such as a claim, revives the worker
        assert reap_dead_workers() in {len(held), len(held) + 1}
        self.lost(held)

    # --- operators --------------------------------------------------------------------------------

    @precondition(lambda self: self.jobs)
    @rule(pick=st.integers(0, 99))
    def cancel(self, pick: int) -> None:
        """CANCEL ends a live job in any state and refuses an ended job."""
        job = self.pick(pick, *State)
        if job.state in TERMINAL:
            with pytest.raises(Conflict):
                cancel(job.id)
            return
        _, previous = cancel(job.id)
        assert previous is job.state
        self.ended(job, State.CANCELLED)

    @precondition(lambda self: self.jobs)
    @rule(pick=st.integers(0, 99))
    def activate(self, pick: int) -> None:
        """ACTIVATE makes a pending job available, or scheduled until its time."""
        pending = self.among(State.PENDING)
        job = pending[pick % len(pending)] if pending else self.pick(pick, *State)
        if job.state is not State.PENDING:
            with pytest.raises(Conflict):
                activate(job.id)
            return
        activate(job.id)
        if job.is_ahead:
            job.state = State.SCHEDULED
        else:
            self.available(job)

    @rule(queue=st.sampled_from(QUEUES), paused=st.booleans())
    def pause(self, queue: str, paused: bool) -> None:
        """Pause or resume; both are idempotent."""
        if paused:
            pause(queue)
            self.paused.add(queue)
        else:
            resume(queue)
            self.paused.discard(queue)

    @precondition(lambda self: self.jobs)
    @rule(pick=st.integers(0, 99))
    def retry_by_hand(self, pick: int) -> None:
        """A retry restarts a discarded job and keeps its history; other states are refused."""
        discarded = self.among(State.DISCARDED)
        job = discarded[pick % len(discarded)] if discarded else self.pick(pick, *State)
        if job.state is not State.DISCARDED:
            with pytest.raises(Conflict):
                dead_letter.retry(job.id)
            return
        dead_letter.retry(job.id)
        job.attempt, job.is_expired, job.dead_letter = 0, False, None
        self.available(job)

    @precondition(lambda self: self.jobs)
    @rule(pick=st.integers(0, 99))
    def delete(self, pick: int) -> None:
        """A discarded job can be deleted for good; other states are refused."""
        job = self.pick(pick, *State)
        if job.state is not State.DISCARDED:
            with pytest.raises(NotFound):
                dead_letter.delete(job.id)
            return
        dead_letter.delete(job.id)
        del self.jobs[job.id]

    @rule()
    def aggregate_events(self) -> None:
        """Aggregation changes no job."""
        aggregate_events()

    @precondition(lambda self: self.among(*TERMINAL))
    @rule(pick=st.integers(0, 99))
    def retention_ends(self, pick: int) -> None:
        """A job whose retention has passed is removed, and no other job."""
        job = self.pick(pick, *TERMINAL)
        at = queries.now() - timedelta(days=200)  # equal in both tables
        for table in (Row, Finished):
            table.objects.filter(id=job.id).update(finished_at=at)
        wait_until_complete()
        aggregate_events()
        while aggregate_events():
            pass
        Retainer()()
        del self.jobs[job.id]

    # --- invariants -------------------------------------------------------------------------------

    @invariant()
    def the_store_agrees_with_the_model(self) -> None:
        """Compare states, attempts, workers, flags and histories."""
        found = queries.jobs(list(self.jobs))
        seen = {
            job.id: (
                state_of(job.state), job.attempt, job.worker_id, job.dead_letter,
                len(orjson.loads(job.errors or "[]")),
            )
            for job in found.values()
        }  # fmt: skip
        assert seen == {
            job.id: (job.state, job.attempt, job.worker, job.dead_letter, job.failures)
            for job in self.jobs.values()
        }
        for job in found.values():
            assert_times_in_order(job)

    @invariant()
    def the_store_agrees_with_itself(self) -> None:
        """Compare rows, counts and events; check that no lane needs repair."""
        assert_store_is_sound()
        assert [heal(), heal()] == [0, 0]


@pytest.fixture
def patient(store: None) -> Iterator[None]:
    """Let only steps pass time, so a slow test makes no worker silent.

    Claims serve the queues in the order of the request, as the model does.
    """
    with override_settings(
        OJS={**django_settings.OJS, "WORKER_SILENCE_MS": HOUR_MS // 2},
        OJS_SCHEDULING={"DEFAULT_STRATEGY": "strict"},
    ):
        yield


@pytest.mark.usefixtures("patient")
def test_any_order_of_verbs_keeps_to_the_contract() -> None:
    run_state_machine_as_test(
        Lifecycle,
        settings=settings(
            max_examples=examples(25),
            stateful_step_count=40,
            suppress_health_check=list(HealthCheck),
        ),
    )
