"""Run a schedule now, in addition to its times. Spec: contract 24.6."""

from dataclasses import replace

from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict
from jobs.domain.job import Job
from scheduling.domain.definition import aim
from scheduling.models import CronEntry
from scheduling.services.cron_entries import find
from scheduling.services.cron_register import Check
from scheduling.services.cron_run import Firing, make, note


def trigger(
    name: str, caller: Caller, check: Check, *, tenant: str | None = None
) -> tuple[CronEntry, Job]:
    """Make the job of a schedule now, even if it is paused; its next run stays unchanged.

    The overlap policy applies. Raises as `find` and `enqueue`, Conflict if no job was made.
    """
    with atomic():
        entry = find(name, caller, tenant, lock=True)
        check(*aim(entry.template))
        firing = Firing(entry, entry.now, manual=True)
        make([firing], replace(caller, tenant=None, block_ms=0))
        if firing.job is None:
            raise Conflict(
                f"cron {name} made no job: {firing.reason}",
                details={"reason": firing.reason, "existing_job_id": firing.existing},
            )
        note([firing])
    return entry, firing.job
