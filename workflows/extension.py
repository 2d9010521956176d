"""The hooks of workflows into the core."""

from collections.abc import Iterable, Sequence

from jobs.domain.gates import Gate
from jobs.domain.job import Job
from jobs.domain.states import CODES, TERMINAL
from jobs.domain.transition import Transition
from jobs.extensions import Extension, Facts, Loop, Sends
from workflows.models import Slot, Step, Workflow
from workflows.services.advance import advance
from workflows.services.explain import explain
from workflows.services.prune import prune, retained
from workflows.services.reopen import reopen
from workflows.services.resume import resume
from workflows.services.sends import sends

ENDED = frozenset(CODES[state] for state in TERMINAL)


class WorkflowsExtension(Extension):
    """Chains, groups, batches and step graphs of jobs."""

    def observe(self, transitions: Sequence[Transition]) -> None:
        """Advance the workflows of ended jobs, and recount the workflows of revived jobs."""
        if ended := [change.job_id for change in transitions if change.after in ENDED]:
            advance(ended)
        for change in transitions:
            if change.before in ENDED:
                reopen(change.job_id)

    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Explain which steps came before a member, and whether its workflow still runs."""
        return explain(job) if job.watched else ()

    def retains(self, job_ids: Sequence[str]) -> set[str]:
        """Keep the members of running workflows."""
        return retained(job_ids)

    def sends(self, job_type: str, *, looked: int) -> Sends:
        """Return the waiting steps that will make jobs of a type."""
        return sends(job_type, looked=looked)

    def tables(self) -> Sequence[str]:
        """Name the tables of this app."""
        return [model._meta.db_table for model in (Workflow, Step, Slot)]

    def loops(self) -> Iterable[Loop]:
        """Begin steps whose jobs were refused, and remove workflows that ended long ago."""
        return (
            Loop("workflows", resume, 1000),
            Loop("prune_workflows", prune, 5000),
        )

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
