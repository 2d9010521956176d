"""Hooks of an extension that keeps checkpoints, from which a later attempt of a job continues."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from jobs.domain.job import Job
from jobs.extensions.registry import Extension, implementers
from ojs_tasks.worker.ports import Suspend as Suspension


class CheckpointFacts(NamedTuple):
    """A checkpoint without its state; `state` is what its own endpoint answers."""

    sequence: int
    created_at: Any
    bytes: int


class PastStep(NamedTuple):
    """A step as it stood at an earlier time."""

    name: str
    state: str
    began_at: Any


class PastCheckpoint(NamedTuple):
    """A checkpoint at an earlier time.

    `sequence` None: not known. Not `is_exact`: the latest recorded number, and later saves may have
    come before that time. `state` is JSON text, None if it is not kept.
    """

    sequence: int | None
    created_at: Any
    is_exact: bool
    state: str | None = None
    steps: Sequence[PastStep] = ()


class Kept(NamedTuple):
    """A checkpoint that a running attempt saves; `state` is JSON text.

    `taken` are ids of signals that the state contains.
    """

    job_id: str
    state: str
    worker_id: str
    attempt: int
    taken: tuple[int, ...] = ()


class CheckpointHooks(Extension):
    """Hooks that keep checkpoints.

    A job has a checkpoint only if `Job.is_checkpointed` is true, and such a job is `watched`. The
    server calls none of the hooks that take jobs for other jobs.
    """

    def resume(self, jobs: Sequence[Job]) -> Mapping[str, str]:
        """Return the new attributes of claimed jobs with a checkpoint, by id; one statement."""
        return {}

    def checkpoint_of(self, job: Job) -> CheckpointFacts | None:
        """Return the facts of a job's checkpoint for operators; one statement."""
        return None

    def checkpoint_at(self, job: Job, at: Any) -> PastCheckpoint | None:
        """Return what is known of a job's checkpoint at a time; one statement."""
        return None

    def save(self, kept: Kept) -> bool:
        """Save the checkpoint of an attempt of this process. Raises Conflict, PayloadTooLarge."""
        return False

    def signal(self, job_id: str, name: str, payload: str, sender: str) -> bool:
        """Send a signal to a job; the payload is JSON text. Raises NotFound, Conflict."""
        return False

    def save_reported(self, job_id: str, state: str) -> bool:
        """Save the checkpoint of a progress report, in its transaction; false: the core keeps it.

        The report has locked the lease, and has compared its worker.
        """
        return False

    def forget(self, job_ids: Collection[str]) -> None:
        """Delete the checkpoints of jobs that start anew, in the transaction that revived them."""

    def suspend(self, suspensions: Sequence[Suspension]) -> None:
        """End attempts that wait, in a transaction of its own. An attempt may have ended before."""

    def portable(self, jobs: Sequence[Job]) -> Mapping[str, Mapping[str, Any]]:
        """Return the envelope members with which a job continues elsewhere, by job id.

        A job that is not returned is followed by something in this region, and cannot move.
        """
        return {}

    def arrived(self, job_id: str, members: Mapping[str, Any]) -> None:
        """Store what `portable` returned for a job, in the transaction that stores the job here."""


def resume(jobs: Sequence[Job]) -> None:
    """Give claimed jobs the states of their checkpoints; no statement without such a job."""
    marked = [job for job in jobs if job.watched and job.is_checkpointed]
    for extension in implementers(CheckpointHooks.resume) if marked else ():
        found = extension.resume(marked)
        for job in marked:
            job.attributes = found.get(job.id, job.attributes)


def checkpoint_of(job: Job) -> CheckpointFacts | None:
    """Return the facts of a job's checkpoint; no statement for a job without one."""
    if not (job.watched and job.is_checkpointed):
        return None
    found = (one.checkpoint_of(job) for one in implementers(CheckpointHooks.checkpoint_of))
    return next((facts for facts in found if facts is not None), None)


def checkpoint_at(job: Job, at: Any) -> PastCheckpoint | None:
    """Return what is known of a checkpoint at a time; no statement for a job without one."""
    if not (job.watched and job.is_checkpointed):
        return None
    found = (one.checkpoint_at(job, at) for one in implementers(CheckpointHooks.checkpoint_at))
    return next((one for one in found if one is not None), None)


def save_reported(job_id: str, state: str) -> bool:
    """Save the checkpoint of a progress report; returns whether an extension has."""
    savers = implementers(CheckpointHooks.save_reported)
    return any(extension.save_reported(job_id, state) for extension in savers)


def save(kept: Kept) -> bool:
    """Save the checkpoint of an attempt; returns whether an extension has."""
    return any(one.save(kept) for one in implementers(CheckpointHooks.save))


def signal(job_id: str, name: str, payload: str, sender: str) -> bool:
    """Send a signal to a job; returns whether an extension has."""
    senders = implementers(CheckpointHooks.signal)
    return any(one.signal(job_id, name, payload, sender) for one in senders)


def keeps_checkpoints() -> bool:
    """Return whether an extension keeps checkpoints."""
    return bool(implementers(CheckpointHooks.save_reported))


def forget(job_ids: Collection[str]) -> None:
    """Delete checkpoints, in the transaction of the caller."""
    for extension in implementers(CheckpointHooks.forget) if job_ids else ():
        extension.forget(job_ids)


def suspend(suspensions: Sequence[Suspension]) -> None:
    """End attempts that wait."""
    for extension in implementers(CheckpointHooks.suspend):
        extension.suspend(suspensions)


def arrived(job_id: str, members: Mapping[str, Any]) -> None:
    """Store the members of `portable` of a job that was stored in this transaction."""
    for extension in implementers(CheckpointHooks.arrived):
        extension.arrived(job_id, members)


def portable(jobs: Sequence[Job]) -> Mapping[str, Mapping[str, Any]]:
    """Return the envelope members with which jobs continue elsewhere, by job id."""
    marked = [job for job in jobs if job.watched and job.is_checkpointed]
    found: dict[str, Mapping[str, Any]] = {}
    for extension in implementers(CheckpointHooks.portable) if marked else ():
        found |= extension.portable(marked)
    return found
