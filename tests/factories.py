"""Factories of jobs: as producers send them, as services take them, and as stored.

Every member of an envelope is a keyword: `DraftFactory.create(priority=5, tags=["a"])`. A stored
job can be requested in a state: `JobFactory.create(state=State.RETRYABLE)`. Services move it to
this state.
"""

from typing import Any

from factory.base import DictFactory, Factory
from factory.declarations import LazyFunction

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.envelope import parse_job
from jobs.domain.job import Job
from jobs.domain.outcome.retry import normalise_error
from jobs.domain.states import CODES, State
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.show import show

NOOP = "tests.noop"
FAR = "2099-01-01T00:00:00Z"
HELD = {State.ACTIVE, State.COMPLETED, State.RETRYABLE, State.DISCARDED}  # by a claim


class EnvelopeFactory(DictFactory):
    """A PUSH request with its members at top level."""

    type = NOOP
    args = LazyFunction(list)  # type: ignore[no-untyped-call]  # the library has few types


class DraftFactory(Factory[JobDraft]):
    """A parsed request, the argument of `enqueue`."""

    class Meta:
        model = JobDraft

    @classmethod
    def _create(cls, model_class: type[JobDraft], *_args: Any, **envelope: Any) -> JobDraft:
        return parse_job(EnvelopeFactory.create(**envelope))


class JobFactory(Factory[Job]):
    """A stored job; for a state behind a claim, no other job of its queue may be ahead."""

    class Meta:
        model = Job

    @classmethod
    def _create(
        cls,
        model_class: type[Job],
        *_args: Any,
        state: State = State.AVAILABLE,
        worker_id: str | None = None,
        **envelope: Any,
    ) -> Job:
        job = stored(1, **_starting_in(state), **envelope)[0]
        if state in HELD:
            claimed = fetch(FetchRequest((job.queue,), worker_id=worker_id)).jobs
            assert [one.id for one in claimed] == [job.id], "another job of the queue was ahead"
        _end(job.id, state)
        return show(job.id)


def stored(number: int, **envelope: Any) -> list[Job]:
    """Enqueue equal jobs with one call; return them in the order in which they will be claimed."""
    jobs = enqueue([DraftFactory.create(**envelope) for _ in range(number)])
    return [job for job in jobs if job is not None]


def stored_ids(number: int, **envelope: Any) -> list[str]:
    """Enqueue equal jobs with one call and return their ids."""
    return [job.id for job in stored(number, **envelope)]


def error(**members: Any) -> dict[str, Any]:
    """Return a job error in the form that `nack` takes."""
    return normalise_error({"code": "handler_error", "message": "it broke", **members})


def _starting_in(state: State) -> dict[str, Any]:
    match state:
        case State.SCHEDULED:
            return {"scheduled_at": FAR}
        case State.PENDING:
            return {"pending": True}
        case _:
            return {}


def _end(job_id: str, state: State) -> None:
    match state:
        case State.COMPLETED:
            ack([Ack(job_id)])
        case State.RETRYABLE:
            nack([Nack(job_id, error())])
        case State.DISCARDED:
            nack([Nack(job_id, error(retryable=False))])
        case State.CANCELLED:
            cancel(job_id)
    assert show(job_id).state == CODES[state], "the envelope does not allow this state"
