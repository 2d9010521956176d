"""The hooks of durable execution into the core."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from durable.services import checkpoints
from durable.services.children import follow_ended, wake_parent
from durable.services.explain import explain
from durable.services.past import checkpoint_at
from durable.services.resume import facts, resume
from durable.services.signals import remarks, require_none, send_checked
from durable.services.suspend import suspend_all
from durable.services.sweep import Sweeper
from durable.services.transfer import arrived, portable
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.gates import Gate
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.job import Job
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, TERMINAL
from jobs.extensions import (
    CheckpointFacts,
    CheckpointHooks,
    ChildHooks,
    EnqueueHooks,
    Facts,
    Loop,
    MoveHooks,
    OperationsHooks,
    Remark,
    ReportHooks,
    TransitionHooks,
)
from jobs.extensions.checkpoints import Kept, PastCheckpoint
from ojs_tasks.children import PARENT
from ojs_tasks.worker.ports import Suspend as Suspension

ENDED = frozenset(CODES[state] for state in TERMINAL)
TABLES = ("ojs_checkpoint", "ojs_signal", "ojs_wait")

sweeper = Sweeper()


class Durable(
    EnqueueHooks,
    CheckpointHooks,
    ChildHooks,
    TransitionHooks,
    ReportHooks,
    OperationsHooks,
    MoveHooks,
):
    """Checkpoints and signals; jobs without them cost no statement."""

    @override
    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft | None:
        """Follow a job that a step of another one started: its end wakes the other one."""
        return replace(draft, watched=True) if PARENT in draft.meta else draft

    @override
    def remarks(self, tenant: str, *, arrives: bool) -> Sequence[Remark]:
        """Refuse the move of jobs with signals; jobs with checkpoints are watched."""
        return () if arrives else remarks(tenant)

    @override
    def require_movable(self, job_ids: Sequence[str]) -> None:
        """Refuse to move jobs that have just got a signal."""
        require_none(job_ids)

    @override
    def resume(self, jobs: Sequence[Job]) -> Mapping[str, str]:
        """Give claimed jobs their state."""
        return resume(jobs)

    @override
    def checkpoint_of(self, job: Job) -> CheckpointFacts | None:
        """Return the facts of a checkpoint."""
        return facts(job)

    @override
    def checkpoint_at(self, job: Job, at: Any) -> PastCheckpoint | None:
        """Return what is known of a checkpoint at a time."""
        return checkpoint_at(job, at)

    @override
    def save(self, kept: Kept) -> bool:
        """Save the checkpoint of an attempt of this process."""
        checkpoints.save_kept(kept)
        return True

    @override
    def signal(self, job_id: str, name: str, payload: str, sender: str) -> bool:
        """Send a signal to a job."""
        send_checked(job_id, name, payload, sender)
        return True

    @override
    def save_reported(self, job_id: str, state: str) -> bool:
        """Save the checkpoint of a progress report."""
        return checkpoints.save_reported(job_id, state)

    @override
    def forget(self, job_ids: Collection[str]) -> None:
        """Delete the checkpoints of jobs that start anew."""
        checkpoints.forget(job_ids)

    @override
    def suspend(self, suspensions: Sequence[Suspension]) -> None:
        """End attempts that wait."""
        suspend_all(suspensions)

    @override
    def portable(self, jobs: Sequence[Job]) -> Mapping[str, Mapping[str, Any]]:
        """Return the states of jobs that nothing else follows."""
        return portable(jobs)

    @override
    def arrived(self, job_id: str, members: Mapping[str, Any]) -> None:
        """Store the state of a job from another region."""
        arrived(job_id, members)

    @override
    def observe(self, transitions: Sequence[Transition]) -> None:
        """Delete the checkpoints of jobs that ended, unless they are in the dead letter.

        Their parents wake, and their children are cancelled that are to end with them.
        """
        ended = [
            change for change in transitions if change.after in ENDED and change.may_have_checkpoint
        ]
        if ended:
            follow_ended(ended)

    @override
    def wake_parent(self, parent: str, ended: str, tenant: str) -> None:
        """Wake a job whose step waits for the end of a workflow."""
        wake_parent(parent, tenant, [ended])

    @override
    def cancelled(self, transitions: Sequence[Transition]) -> None:
        """Delete checkpoints and cancel children of jobs that were cancelled with a workflow."""
        follow_ended(transitions)

    @override
    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Explain which step waits for a time or a signal."""
        return explain(job) if job.watched and job.is_checkpointed else ()

    @override
    def tables(self) -> Sequence[str]:
        """Name the tables of this app."""
        return TABLES

    @override
    def loops(self) -> Iterable[Loop]:
        """Delete what removed jobs left behind."""
        return (Loop("durable_sweep", sweeper.run_once, 30_000, while_rows_of=TABLES),)

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare the extension."""
        return (
            Facts(
                "durable-execution",
                "urn:ojs:ext:durable-execution",
                "1.0.0-rc.1",
                capabilities={"durable_execution": True},
            ),
        )
