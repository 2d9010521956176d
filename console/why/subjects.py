"""The causes of each kind of subject, by a fixed number of statements.

An available job stands for the waiting jobs of a queue, tenant, type or schedule: its explanation
evaluates the conditions of the claim (`jobs/services/dispatch/explain.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

import orjson

from attention.domain.rule import act, page
from console import queries
from console.why.causes import (
    Cause,
    maintenance_on,
    queue_paused,
    tenant_suspended,
    tenant_throttled,
)
from console.why.gates import causes_of_job
from jobs.domain.errors import NotFound
from jobs.domain.job import Job
from jobs.domain.states import TERMINAL, WAITING, state_of
from jobs.models import Queue
from jobs.services.dispatch.explain import explain
from jobs.services.operate.maintenance import maintenance
from jobs.services.read.show import show
from ojs_tasks.installed import has_app

if TYPE_CHECKING:  # the apps may be absent
    from console.tenants import TenantLine, Use
    from jobs.services.workers.workers import WorkerRow
    from scheduling.models import CronEntry
    from scheduling.services.cron_history import Execution
    from workflows.domain.rows import StepRow
    from workflows.services.show import Whole

QUIET, ENDING = 1, 2  # codes of Worker.directive
DUE: Final = 1  # code of a step whose job the server refused
LANES, LOOKED = 200, 10  # lanes, and jobs of each, that are read to find one of a type
QUEUES: Final = 20  # queues of a worker that are read
# limits of a tenant that hold jobs back when they start; all others refuse new jobs
AT_START: Final = frozenset({"max_concurrency"})


def of_queue(queue: str, paused_at: datetime | None, tenant: str | None) -> list[Cause]:
    """Return the causes of a queue: its pause, its region, and those of a waiting job."""
    found = [queue_paused(queue, paused_at)] if paused_at else []
    found += _of_example(queries.why_example(queues=[queue], tenant=tenant), tenant)
    return [*found, *_drained()]


def of_tenant(line: "TenantLine", tenant: str | None) -> list[Cause]:
    """Return the causes of a tenant: suspension, throttle, used limits, and a waiting job."""
    name = line.row.id
    found = [tenant_suspended(name)] if line.is_suspended else []
    found += _of_example(queries.why_example(tenant=name), tenant)
    if line.throttle:
        reduced = line.throttle
        detail = f"Its {reduced.action} is {reduced.effective:g} instead of {reduced.original:g}."
        found.append(tenant_throttled(name, detail, reduced.since, reduced.until))
    for use in line.reached:
        if use.name not in AT_START and not line.is_suspended:
            found.append(_tenant_full(name, use))
    return found


def _tenant_full(tenant: str, use: "Use") -> Cause:
    text = f"Tenant {tenant} has reached its limit of “{use.label}”."
    detail = f"Its limit is {use.most:,} {use.words} jobs, and it has {use.held:,}."
    if use.name == "max_queues":
        detail = f"Its limit is {use.most:,} queues, and it has {use.held:,}."
    if not use.most:
        detail = "Its limit is 0."
    return Cause(
        text,
        f"{detail} The server refuses more, unless the quota of the tenant is soft.",
        (page("Change the limit", "tenant_edit", tenant),),
        about=tenant,
    )


def of_type(job_type: str, queues: Sequence[str], tenant: str | None) -> list[Cause]:
    """Return the causes of a waiting job of a type, in the queues that the type uses."""
    example = queries.why_example(
        queues=queues or None, tenant=tenant, job_type=job_type, lanes=LANES, looked=LOOKED
    )
    return _of_example(example, tenant)


def of_worker(worker: "WorkerRow") -> list[Cause]:
    """Return the causes of a worker that takes no jobs."""
    ended = _of_ended(worker)
    return [ended] if ended else [*_of_server(), *_of_directive(worker), *_of_queues(worker)]


def _of_ended(worker: "WorkerRow") -> Cause | None:
    forget = (act("Forget worker", "remove-worker", worker.id),)
    if worker.stopped_at:
        return Cause(
            f"Worker {worker.id} has stopped.", "It ended in order and takes no jobs.", forget,
            since=worker.stopped_at, about=worker.id,
        )  # fmt: skip
    if worker.dead_at or worker.is_silent:
        return Cause(
            f"Worker {worker.id} sends no heartbeat.",
            "Its process was killed, or is cut off from the server. The jobs that it ran start "
            "again when their leases end.",
            forget,
            since=worker.last_heartbeat_at,
            about=worker.id,
        )
    return None


def _of_server() -> list[Cause]:
    mode = maintenance()
    return [maintenance_on(mode.reason, mode.started_at, mode.ends_at)] if mode else []


def _of_directive(worker: "WorkerRow") -> Iterator[Cause]:
    if worker.directive >= ENDING:
        text = f"An operator told worker {worker.id} to terminate."
        yield Cause(text, "It takes no new jobs, and ends when its running jobs have ended.")
    elif worker.directive == QUIET:
        yield Cause(
            f"An operator told worker {worker.id} to take no new jobs.",
            "Its running jobs continue.",
            (act("Resume worker", "unquiet", worker.id),),
            about=worker.id,
        )
    elif worker.reported:
        text = f"Worker {worker.id} takes no new jobs."
        yield Cause(text, "Its process reports that it is about to end.")


def _of_queues(worker: "WorkerRow") -> Iterator[Cause]:
    """Return the pauses of a worker whose queues are all paused; one statement."""
    named = orjson.loads(worker.queues or "null")
    if not isinstance(named, list) or not 0 < len(named) <= QUEUES:
        return
    paused = dict(
        Queue.objects.filter(name__in=named, paused_at__isnull=False)
        .order_by("name")
        .values_list("name", "paused_at")
    )
    if len(paused) == len(set(named)):
        for name, since in paused.items():
            yield queue_paused(name, since)


def of_workflow(whole: "Whole", tenant: str | None) -> list[Cause]:
    """Return the causes of the first waiting step of a running workflow; none while a step runs."""
    from workflows.services.display import own_state  # noqa: PLC0415 - the app may be absent

    if whole.row.finished_at:
        return []
    steps = list(_steps_of(whole))
    if any(step.is_active for step in steps):
        return []
    refused = next((step for step in steps if step.state == DUE), None)
    if refused:
        text = f"Step {refused.name} has no job yet."
        return [Cause(text, "The server refuses its job, and tries again.")]
    waiting = next((one for one in steps if one.job_id and own_state(one) in _WAITING), None)
    if waiting is None:
        return []
    return [
        replace(cause, text=f"Step {waiting.name} waits. {cause.text}")
        for cause in _of_example(waiting.job_id, tenant)
    ]


_WAITING: Final = frozenset(state.value for state in WAITING)


def _steps_of(whole: "Whole") -> "Iterator[StepRow]":
    """Return the steps of a workflow and of its nested workflows."""
    yield from whole.steps
    for inner in whole.inside.values():
        yield from _steps_of(inner)


def of_schedule(
    entry: "CronEntry", runs: "Sequence[Execution]", missing: str, tenant: str | None
) -> list[Cause]:
    """Return the causes of a schedule without runs, or whose latest run does not start.

    `missing` says why the latest run made no job.
    """
    found = _of_server()
    if not entry.enabled:
        found.append(
            Cause(
                f"Schedule {entry.name} is paused.",
                "It makes no jobs until an operator resumes it.",
                (act("Resume schedule", "cron-resume", entry.pk),),
                about=entry.name,
            )
        )
    latest = runs[0] if runs else None
    if latest and latest.run.reason:
        held = next((one.job for one in runs if _runs(one.job)), None)
        shown = (page("Show the run before", "job", held.id),) if held else ()
        found.append(
            Cause(f"The latest run made no job: {missing}.", latest.run.detail or "", shown)
        )
    elif latest and latest.job and state_of(latest.job.state) in WAITING:
        found += _of_example(latest.job.id, tenant)
    return found


def _runs(job: Job | None) -> bool:
    return job is not None and state_of(job.state) not in TERMINAL


def _of_example(job_id: str | None, tenant: str | None) -> list[Cause]:
    """Explain one job. Return no causes if it is gone, or only waits for its turn."""
    if job_id is None:
        return []
    try:
        job = show(job_id)
    except NotFound:
        return []
    if state_of(job.state) not in WAITING:
        return []
    shown = page("Show a waiting job", "job", job.id)
    found = causes_of_job(job, explain(job, tenant).gates)
    return [replace(cause, remedies=(*cause.remedies, shown)) for cause in found]


def _drained() -> Iterator[Cause]:
    """Return the cause of a server whose region is drained; the registry is cached."""
    if not has_app("federation"):
        return
    from federation.services.registry.regions import registry  # noqa: PLC0415 - may be absent

    known = registry()
    region = known.regions.get(known.local_region or "")
    if region is not None and region.drain:
        yield Cause(
            f"Region {region.id}, the region of this server, is drained.",
            "The router of jobs sends no new jobs here. Stored jobs still run.",
            (act("Undrain region", "region-undrain", region.id), page("Show regions", "regions")),
            about=region.id,
        )
