"""Workers with requests and silences in any order, compared with a model of their signs of life.

A worker with a sign of life within the silence keeps its jobs, and so does a worker with a younger
lease. Jobs of a worker that was silent for longer become available again. Spec: contract 9.5.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.db.models import F
from django.test import override_settings
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Lease, Worker
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.progress import Progress, report
from jobs.services.outcome.reap import reap_dead_workers
from jobs.services.upkeep.reset import reset
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.asserts import assert_store_is_sound, state
from tests.effort import examples
from tests.factories import error, stored_ids

SILENCE_MIN = 600
NOTED_MIN = 60  # a tenth of the silence: the stored sign may be older than the last request by this
WORKERS = ("w1", "w2")


@dataclass
class Held:
    """An active job: its worker, and the time of its lease."""

    id: str
    worker: str
    granted: int


class Signs(RuleBasedStateMachine):
    """State machine; time passes by moving stored times back."""

    def __init__(self) -> None:
        super().__init__()
        reset()
        self.now = 0
        self.beat: set[str] = set()  # workers with at least one heartbeat
        self.heard = dict.fromkeys(WORKERS, 0)
        self.held: list[Held] = []

    def sign(self, worker: str) -> None:
        """Record a request."""
        self.heard[worker] = self.now

    @rule(worker=st.sampled_from(WORKERS))
    def heartbeats(self, worker: str) -> None:
        """The worker sends a heartbeat without jobs."""
        heartbeat(Report(worker))
        self.beat.add(worker)
        self.sign(worker)

    @rule(worker=st.sampled_from(WORKERS), new=st.integers(0, 2))
    def fetches(self, worker: str, new: int) -> None:
        """The worker claims available jobs, or none."""
        if new:
            stored_ids(new)
        found = fetch(FetchRequest(("default",), 2, worker, visibility_ms=10**10)).jobs
        self.held += [Held(job.id, worker, self.now) for job in found]
        self.sign(worker)

    @precondition(lambda self: self.held)
    @rule(pick=st.integers(0, 9), verb=st.sampled_from(["ack", "fail", "requeue", "progress"]))
    def answers(self, pick: int, verb: str) -> None:
        """A worker answers for a job without naming itself."""
        job = self.held[pick % len(self.held)]
        match verb:
            case "ack":
                ack([Ack(job.id)])
            case "fail":
                nack([Nack(job.id, error())])
            case "requeue":
                nack([Nack(job.id, None, requeue=True)])
            case _:
                report(job.id, Progress(0.5))
        if verb != "progress":
            self.held.remove(job)
        self.sign(job.worker)

    @rule(minutes=st.integers(1, SILENCE_MIN + 2 * NOTED_MIN))
    def time_passes(self, minutes: int) -> None:
        """Move all stored times back."""
        span = timedelta(minutes=minutes)
        for name in ("last_heartbeat_at", "dead_at", "started_at"):
            Worker.objects.update(**{name: F(name) - span})
        Lease.objects.update(started_at=F("started_at") - span)
        self.now += minutes

    @rule()
    def reaper_comes(self) -> None:
        """Check that the reaper takes the jobs of silent workers, and no others."""
        reap_dead_workers()
        for job in list(self.held):
            silent = self.now - max(self.heard[job.worker], job.granted)
            is_taken = state(job.id) is not State.ACTIVE
            if silent < SILENCE_MIN or job.worker not in self.beat:
                assert not is_taken, (job, silent)
            elif silent > SILENCE_MIN + NOTED_MIN:
                assert is_taken, (job, silent)
            if is_taken:
                self.held.remove(job)
        assert_store_is_sound()


@pytest.fixture
def patient(store: None) -> Iterator[None]:
    """Let only steps pass time."""
    with override_settings(OJS={**django_settings.OJS, "WORKER_SILENCE_MS": SILENCE_MIN * 60_000}):
        yield


@pytest.mark.usefixtures("patient")
def test_no_job_leaves_a_worker_that_gives_signs() -> None:
    run_state_machine_as_test(
        Signs,
        settings=settings(
            max_examples=examples(30),
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
        ),
    )
