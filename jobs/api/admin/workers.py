"""The workers endpoints for operators. Spec: contract 24.1, 24.2, 33 GS-15."""

from typing import Any

import orjson
from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    OBJECT,
    TIME,
    Schema,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.wire.admin import (
    checked_worker_id,
    chosen,
    list_of,
    listed,
    optional_text,
    plain,
)
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.api.workers.schemas import DIRECTIVE
from jobs.domain.dispatch.claim import STRATEGIES
from jobs.domain.dispatch.rotation_request import MEMBER
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.times import format_time
from jobs.queries import WorkerRow
from jobs.services.audit.audit import audited
from jobs.services.workers import workers as service
from jobs.services.workers.heartbeat import Standing
from jobs.services.workers.held import queues_of_worker

STANDINGS = ("running", "quiet", "stale", "terminate")
MEMBERS: Schema = {
    "id": text(1),
    "state": {"type": "string", "enum": list(STANDINGS)},
    "directive": DIRECTIVE,
    "queues": array(text()),
    "concurrency": maybe(integer(0)),
    "active_jobs": integer(0),
    "started_at": TIME,
    "last_heartbeat_at": TIME,
    "last_heartbeat": TIME,
    "hostname": maybe(text()),
    "pid": maybe(integer(0)),
    "version": maybe(text()),
    "pool": maybe(text()),
    "tenant_id": maybe(text()),
    "metadata": OBJECT,
    "labels": ANY,
    "strategy": maybe({"type": "string", "enum": list(STRATEGIES)}),
    "weights": OBJECT,
}
SUMMARY = component("WorkerSummary", obj(MEMBERS))
DETAIL = component(
    "WorkerDetail",
    obj(
        {
            **MEMBERS,
            "active_job_ids": array(text(1)),
            "handlers": array(text()),
            "declared_handlers": array(
                obj({"type": text(1), "versions": text(1)}, {"accept_unversioned": BOOLEAN})
            ),
            "handlers_exclusive": BOOLEAN,
        }
    ),
)
DIRECTED = component("DirectedWorker", obj({**MEMBERS, "worker_id": text(1)}))
COUNTS = obj({name: integer(0) for name in ("total", "running", "quiet", "stale")})
REASON = obj({}, {"reason": maybe(text())})


def encode_worker(worker: WorkerRow) -> dict[str, Any]:
    """Encode a worker."""
    labels = orjson.loads(worker.labels or "null")
    facts = labels if isinstance(labels, dict) else {}
    # official clients need a time; for a worker that only fetches it is its first FETCH
    heard = format_time(worker.last_heartbeat_at or worker.started_at)
    version, rotation = facts.get("version"), _declared(worker).get(MEMBER) or {}
    return {
        "id": worker.id,
        "state": worker.standing,
        "directive": Standing(worker.directive).name.lower(),
        "queues": orjson.loads(worker.queues or "[]"),
        "concurrency": worker.concurrency,
        "active_jobs": worker.active,
        "started_at": format_time(worker.started_at),
        "last_heartbeat_at": heard,
        "last_heartbeat": heard,
        "hostname": worker.hostname,
        "pid": worker.pid,
        "version": version if isinstance(version, str) else None,
        "pool": worker.pool,
        "tenant_id": worker.tenant,
        "metadata": facts,
        "labels": labels,
        "strategy": rotation.get("strategy"),
        "weights": rotation.get("weights") or {},
    }


def _declared(worker: WorkerRow) -> dict[str, Any]:
    found = orjson.loads(worker.declaration or "null")
    return found if isinstance(found, dict) else {}


def _handlers(worker: WorkerRow) -> dict[str, Any]:
    """Encode the handlers of a worker: its declared versions, else its registered types."""
    declared = _declared(worker)
    entries = declared.get("handlers") or []
    labels = orjson.loads(worker.labels or "null")
    types = labels.get("handlers") if isinstance(labels, dict) else None
    names = [str(one) for one in types] if isinstance(types, list) else []
    return {
        "handlers": list(dict.fromkeys(one["type"] for one in entries)) or names,
        "declared_handlers": entries,
        "handlers_exclusive": bool(declared.get("exclusive")),
    }


class AdminWorkers(OJSView):
    """All workers."""

    @may_lag
    @operation(
        "adminListWorkers",
        {200: list_of(SUMMARY, "workers", more={"summary": COUNTS})},
        query={
            "state": {"type": "string", "enum": [*STANDINGS, ""]},
            "pool": text(),
            "tenant": text(),
            **NUMBERED,
        },
        aliases={"/ojs/v1/workers": "listWorkers"},
    )
    def get(self, request: Request) -> Answer:
        """List workers that are alive or fell silent lately, by name, and count them by state."""
        window = admin_page(request)
        wanted = service.WorkerFilter(
            chosen(request, "state", STANDINGS) or None,
            plain(request, "pool"),
            plain(request, "tenant"),
        )
        found = service.workers(wanted, limit=window.limit, offset=window.offset)
        counts = service.standings(wanted)
        total = counts.get(wanted.standing, 0) if wanted.standing else sum(counts.values())
        shown = listed([encode_worker(one) for one in found], total, window, "workers")
        summary = {name: counts.get(name, 0) for name in ("running", "quiet", "stale")}
        return Answer({**shown, "summary": {"total": sum(counts.values()), **summary}})


class OneWorkerView(OJSView):
    """Changes one worker."""

    def require_own(self, worker_id: str) -> None:
        """Refuse a key that is limited to queues the workers of other queues.

        Raises NotFound, PermissionDenied.
        """
        checked_worker_id(worker_id)
        if self.principal.is_limited:
            self.principal.require_queues("direct workers", queues_of_worker(worker_id))


class AdminWorker(OneWorkerView):
    """One worker."""

    @operation("adminGetWorker", {200: DETAIL}, refusals=(404,))
    def get(self, request: Request, worker_id: str) -> Answer:
        """Show a worker and the jobs it holds."""
        found = service.worker(checked_worker_id(worker_id))
        ids = service.active_jobs(worker_id)
        return Answer({**encode_worker(found), "active_job_ids": ids, **_handlers(found)})

    @operation(
        "adminDeleteWorker",
        {204: None},
        query={"force": {"type": "string", "enum": ["true", "false", ""]}},
        refusals=(404, 409),
    )
    def delete(self, request: Request, worker_id: str) -> Answer:
        """Remove a worker and return its jobs at once, without a failure.

        A worker with recent heartbeats is refused unless `force=true`.
        """
        force = chosen(request, "force", ("true", "false")) == "true"
        self.require_own(worker_id)
        with audited(self.caller, "worker.removed", checked_worker_id(worker_id)) as data:
            data["returned_jobs"] = service.remove(worker_id, force=force)
        return Answer(None, status=204)


class WorkerDirective(OneWorkerView):
    """The directive for one worker."""

    @operation(
        "directWorker",
        {200: DIRECTED},
        path={"verb": {"type": "string", "enum": list(service.DIRECTIVES)}},
        body=REASON,
        needs_body=False,
        refusals=(404, 409),
    )
    def post(self, request: Request, worker_id: str, verb: str) -> Answer:
        """Give a worker a directive; it receives it with its next heartbeat or FETCH."""
        reason = optional_text(self.optional_body(), "reason")
        self.require_own(worker_id)
        with audited(self.caller, f"worker.{verb}", worker_id, reason=reason):
            service.direct(worker_id, verb)
        return Answer({**encode_worker(service.worker(worker_id)), "worker_id": worker_id})


class WorkersDirective(OJSView):
    """The directive for all workers."""

    @operation(
        "directWorkers",
        {200: obj({"directive": text(1), "affected": integer(0)})},
        body=obj(
            {"directive": {"type": "string", "enum": list(service.DIRECTIVES)}},
            {"pool": maybe(text()), "reason": maybe(text())},
        ),
    )
    def post(self, request: Request) -> Answer:
        """Give all live workers, or those of a pool, a directive.

        Workers with the directive `terminate` do not change any more.
        """
        body = self.body()
        verb = body.get("directive")
        if not isinstance(verb, str) or verb not in service.DIRECTIVES:
            names = ", ".join(service.DIRECTIVES)
            raise InvalidRequest.field("directive", f"must be one of {names}", verb)
        self.principal.require_unlimited("direct workers")
        pool, reason = optional_text(body, "pool"), optional_text(body, "reason")
        with audited(self.caller, f"workers.{verb}", pool or "all", reason=reason) as data:
            affected = data["affected"] = service.direct_all(verb, pool)
        return Answer({"directive": verb, "affected": affected})
