"""Process heartbeats of workers and answer with directives.

Spec: core BEAT, contract 3.4, 9.1, 9.4, D50.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from jobs import extensions, queries
from jobs.conf import conf
from jobs.domain.dispatch.claim import Declaration
from jobs.domain.dispatch.rotation_request import MEMBER, RotationRequest
from jobs.domain.errors import OJSError, PoolConflict, WorkerTaken
from jobs.domain.record.events import Kind
from jobs.domain.wire import jsonio
from jobs.extensions import ClaimHooks
from jobs.services.lanes import bindings
from jobs.services.record.events import is_excluded
from jobs.services.record.log import is_beat_logged
from jobs.services.workers.held import may_see
from ojs_tasks.worker.ports import Standing

__all__ = ["Answer", "Report", "Standing", "heartbeat"]


@dataclass(frozen=True, slots=True)
class Report:
    """One heartbeat; `active_ids` are the jobs whose leases to extend."""

    worker_id: str
    standing: Standing = Standing.RUNNING
    is_draining: bool = False
    active_ids: tuple[str, ...] = ()
    active_jobs: int = 0
    visibility_ms: int | None = None
    hostname: str | None = None
    pid: int | None = None
    queues: tuple[str, ...] | None = None
    concurrency: int | None = None
    labels: Mapping[str, Any] | list[Any] | None = None
    started_at: datetime | None = None
    pool: str | None = None
    tenant: str | None = None  # that the caller is bound to
    declaration: Declaration | None = None  # null: the previous declaration still applies
    rotation: RotationRequest | None = None  # null: the previous request still applies


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the worker."""

    standing: Standing
    extended: list[str]
    cancelled: list[str]
    server_time: datetime


def heartbeat(report: Report) -> Answer:
    """Store a worker's sign of life and extend its leases; one statement.

    Raises PoolConflict if the worker lives in another pool than the request names, WorkerTaken if
    it belongs to another tenant, and the refusals of extensions.
    """
    for extension in extensions.implementers(ClaimHooks.check_worker):
        extension.check_worker(report.worker_id, report.pool)
    is_stopped = report.standing is Standing.TERMINATE and not report.active_jobs
    beat = queries.heartbeat(
        {
            "worker_id": report.worker_id,
            "reported": int(report.standing),
            "draining": report.is_draining,
            "ids": sorted(set(report.active_ids)),
            "lease_ms": report.visibility_ms,
            "hostname": report.hostname,
            "pid": report.pid,
            "queues": _json(report.queues),
            "concurrency": report.concurrency,
            "labels": _json(report.labels),
            "started_at": report.started_at,
            "declaration": _declaration(report),
            "pool": report.pool,
            "tenant": report.tenant,
            "stopped": is_stopped,
            "with_tests": conf().test_directives,
            "tell_beats": is_beat_logged() or not is_excluded(Kind.WORKER_HEARTBEAT),
            "tell_leases": is_beat_logged() or not is_excluded(Kind.HEARTBEAT),
        }
    )
    if beat.conflict is not None:
        raise _refusal(report, beat.conflict)
    if report.pool is not None:
        bindings.learn(report.worker_id, report.pool)
    if beat.declared is not None:
        bindings.learn_declared(report.worker_id, beat.declared)
    standing = Standing(max(beat.directive, report.standing))
    if beat.test_directive:
        standing = Standing[beat.test_directive.upper()]
    return Answer(standing, beat.extended, beat.cancelled, beat.server_time)


def _refusal(report: Report, pool: str) -> OJSError:
    worker_id = report.worker_id
    if report.pool in {None, pool} or not may_see(worker_id, report.tenant):
        # no more than that: the caller may not learn the worker's tenant and pool
        return WorkerTaken(
            f"worker {worker_id} belongs to another caller", details={"worker_id": worker_id}
        )
    return PoolConflict(
        f"worker {worker_id} is in pool {pool}, not in {report.pool}",
        details={"worker_id": worker_id, "pool": pool},
    )


def _declaration(report: Report) -> str | None:
    """Return the members of the worker's declaration that a report sets; null clears one."""
    if report.declaration is None and report.rotation is None:
        return None
    said = {} if report.declaration is None else jsonio.loads(report.declaration.text.encode())
    if report.rotation is not None:
        said[MEMBER] = report.rotation.to_row()
    return jsonio.dumps(said).decode()


def _json(value: object) -> str | None:
    return None if value is None else orjson.dumps(value).decode()
