"""The hooks of workflows into the core."""

from collections.abc import Collection, Iterable, Sequence

from typing_extensions import override

from jobs.domain.dispatch.gates import Gate
from jobs.domain.job import Job
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, TERMINAL
from jobs.extensions import (
    ChildHooks,
    Facts,
    FutureProducers,
    Loop,
    MoveHooks,
    OperationsHooks,
    Remark,
    ReportHooks,
    TransitionHooks,
)
from workflows.models import Slot, Step, Workflow
from workflows.services.advance import advance
from workflows.services.children import cancel_children, has_ended
from workflows.services.explain import explain
from workflows.services.moves import remarks
from workflows.services.producers import future_producers
from workflows.services.prune import prune, retained
from workflows.services.reopen import reopen
from workflows.services.resume import resume

ENDED = frozenset(CODES[state] for state in TERMINAL)


class WorkflowsExtension(ChildHooks, TransitionHooks, ReportHooks, OperationsHooks, MoveHooks):
    """Chains, groups, batches and step graphs of jobs."""

    @override
    def observe(self, transitions: Sequence[Transition]) -> None:
        """Advance the workflows of ended jobs, and recount the workflows of revived jobs."""
        if ended := [change.job_id for change in transitions if change.after in ENDED]:
            advance(ended)
        for change in transitions:
            if change.before in ENDED:
                reopen(change.job_id)

    @override
    def remarks(self, tenant: str, *, arrives: bool) -> Sequence[Remark]:
        """Refuse the move of a tenant with unfinished workflows."""
        return () if arrives else remarks(tenant)

    @override
    def has_ended(self, names: Collection[str], tenant: str) -> bool:
        """Return whether one of the workflows has ended that a step waits for."""
        return has_ended(names, tenant)

    @override
    def cancel_children(self, ids: Collection[str], parent: str, tenant: str) -> None:
        """Cancel workflows that end with the job whose step started them."""
        cancel_children(ids, parent, tenant)

    @override
    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Explain which steps came before a member, and whether its workflow still runs."""
        return explain(job) if job.watched else ()

    @override
    def retained_jobs(self, job_ids: Sequence[str]) -> set[str]:
        """Keep the members of running workflows."""
        return retained(job_ids)

    @override
    def future_producers(self, job_type: str, *, looked: int) -> FutureProducers:
        """Return the waiting steps that will make jobs of a type."""
        return future_producers(job_type, looked=looked)

    @override
    def tables(self) -> Sequence[str]:
        """Name the tables of this app."""
        return [model._meta.db_table for model in (Workflow, Step, Slot)]

    @override
    def loops(self) -> Iterable[Loop]:
        """Begin steps whose jobs were refused, and remove workflows that ended long ago."""
        return (
            Loop("workflows", resume, 1000, while_rows_of=("ojs_workflow_step",)),
            Loop("prune_workflows", prune, 5000),
        )

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare the capability."""
        return (
            Facts(
                "workflows",
                "urn:ojs:ext:workflows",
                "1.0.0",
                capabilities={"workflows": True},
                paths=("workflows",),
            ),
        )
