"""Read the history of a schedule. Spec: contract 24.6."""

from dataclasses import dataclass

from jobs.domain.job import Job
from jobs.services.read.show import show_many
from scheduling.models import CronEntry, CronRun


@dataclass(frozen=True, slots=True)
class Execution:
    """One occurrence and its job; None if no job was made or the job is no longer kept."""

    run: CronRun
    job: Job | None


def history(entry: CronEntry, limit: int) -> list[Execution]:
    """Return the latest occurrences, newest first; two statements."""
    runs = list(CronRun.objects.filter(entry=entry).order_by("-number")[:limit])
    found = {job.id: job for job in show_many([str(run.job_id) for run in runs if run.job_id])}
    return [Execution(run, found.get(str(run.job_id))) for run in runs]
