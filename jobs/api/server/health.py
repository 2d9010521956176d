"""Health, liveness and readiness. Spec: contract 3.8, 32.1."""

from typing import Any

from rest_framework.request import Request

from jobs import VERSION
from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import TIME, WORKER_ID, Schema, component, integer, maybe, obj, text
from jobs.api.wire.answer import Answer
from jobs.api.wire.media import OJS_VERSION
from jobs.domain.errors import NotFound
from jobs.domain.wire.times import format_time
from jobs.gather import Later, now
from jobs.services.health.health import (
    Health,
    health,
    health_soon,
    is_migrated,
    lacking,
    uptime_seconds,
)
from jobs.services.workers.draining import is_draining
from jobs.services.workers.held import may_see
from jobs.services.workers.workers import worker_health

BACKEND = obj(
    {
        "type": {"const": "postgres"},
        "status": {"type": "string", "enum": ["ok", "degraded", "unhealthy"]},
        "latency_ms": integer(0),
    },
    {"error": text(1)},
)
HEALTH = component(
    "Health",
    obj(
        {
            "status": {"type": "string", "enum": ["ok", "degraded"]},
            "version": text(1),
            "specversion": {"const": OJS_VERSION},
            "uptime_seconds": integer(0),
            "backend": BACKEND,
        },
        {
            "queues": obj({name: integer(0) for name in ("total", "active", "paused")}),
            "workers": obj(
                {name: integer(0) for name in ("total", "active", "connected", "stale")}
            ),
            "loops": obj({"dispatch": text(1)}, {"last_tick_at": TIME}),
        },
    ),
)
MIGRATED = {True: "ok", False: "missing", None: "unknown"}
ALIVE = obj({"status": {"const": "ok"}})
READY: Schema = obj(
    {
        "status": {"type": "string", "enum": ["ready", "not_ready"]},
        "checks": obj({name: text(1) for name in ("database", "migrations", "loops", "writes")}),
    }
)

WORKER: Schema = obj(
    {
        "worker_id": WORKER_ID,
        "state": {"type": "string", "enum": ["running", "quiet", "drain", "terminate", "stale"]},
        "active_jobs": integer(0),
        "last_heartbeat_at": maybe(TIME),
    }
)


class HealthView(OJSView):
    """The health of the server."""

    optional = "getHealth?numbers"

    @operation("getHealth", {200: HEALTH, 503: HEALTH}, aliases={"/health": "getHealthShort"})
    def get(self, request: Request) -> Answer:
        """Show health; 503 when the database does not answer.

        Numbers of queues, workers and loops need a read permission and a caller that is bound to no
        tenant.
        """
        return now(self.get_soon(request))

    def get_soon(self, request: Request) -> Later[Answer] | Answer:
        """Begin to read the health."""
        found = health_soon()
        return found.then(self._answer) if isinstance(found, Later) else self._answer(found)

    def _answer(self, found: Health) -> Answer:
        is_reader = not found.error and self.may(self.optional)
        return Answer(
            {
                "status": "ok" if found.is_well else "degraded",
                "version": VERSION,
                "specversion": OJS_VERSION,
                "uptime_seconds": uptime_seconds(),
                "backend": _backend(found),
                **(_system(found) if is_reader else {}),
            },
            status=503 if found.error else 200,
            headers={"Cache-Control": "no-store"},
        )


def _backend(found: Health) -> dict[str, Any]:
    if found.error:
        return {"type": "postgres", "status": "unhealthy", "latency_ms": 0, "error": found.error}
    status = "degraded" if found.is_slow or found.writes else "ok"
    failure = {"error": found.writes} if found.writes else {}
    return {"type": "postgres", "status": status, "latency_ms": found.latency_ms, **failure}


def _system(found: Health) -> dict[str, Any]:
    vitals = found.vitals
    if vitals is None:
        return {}
    loops: dict[str, Any] = {"dispatch": "ok" if found.is_ticking else "stale"}
    if vitals.ticked_at:
        loops["last_tick_at"] = format_time(vitals.ticked_at)
    return {
        "queues": {
            "total": vitals.queues,
            "active": vitals.queues - vitals.paused,
            "paused": vitals.paused,
        },
        "workers": {
            "total": vitals.workers,
            "active": vitals.alive,
            "connected": vitals.alive,
            "stale": vitals.workers - vitals.alive,
        },
        "loops": loops,
    }


class Alive(OJSView):
    """The process answers; no database."""

    @operation("isAlive", {200: ALIVE}, aliases={"/healthz": "isAliveZ"})
    def get(self, request: Request) -> Answer:
        """Answer, as proof that the process is alive."""
        return Answer({"status": "ok"})


class Ready(OJSView):
    """Whether this process should get requests."""

    optional = "isReady?lacking"

    @operation("isReady", {200: READY, 503: READY}, aliases={"/readyz": "isReadyZ"})
    def get(self, request: Request) -> Answer:
        """Check the database and its tables; loops may run elsewhere and are only reported.

        503 also while this process is about to end.
        """
        found = health()
        migrated = None if found.error else is_migrated()
        is_current = bool(migrated) and not is_draining()
        checks = {
            "database": found.error or "ok",
            "migrations": self._missing() if migrated is False else MIGRATED[migrated],
            "loops": _loops(found),
            "writes": found.writes or ("unknown" if found.error else "ok"),
        }
        shown = {"status": "ready" if is_current else "not_ready", "checks": checks}
        return Answer(shown, status=200 if is_current else 503)

    def _missing(self) -> str:
        """Name the missing parts of the database to authorized callers; the route is public."""
        if self.may(self.optional) and (parts := lacking()):
            return f"missing: {parts}"
        return "missing"


def _loops(found: Health) -> str:
    if found.error:
        return "unknown"
    return "ok" if found.is_ticking else "stale"


class WorkerHealth(OJSView):
    """The health of one worker."""

    @operation("getWorkerHealth", {200: WORKER, 503: WORKER}, refusals=(404,))
    def get(self, request: Request, worker_id: str) -> Answer:
        """Show the health of a worker.

        503 when it is about to leave or was silent for long.
        """
        if "\0" in worker_id or not may_see(worker_id, self.principal.tenant):
            raise NotFound.of("worker", worker_id)
        found = worker_health(worker_id)
        return Answer(
            {
                "worker_id": found.worker_id,
                "state": found.state,
                "active_jobs": found.active_jobs,
                "last_heartbeat_at": found.last_heartbeat_at
                and format_time(found.last_heartbeat_at),
            },
            status=200 if found.is_well else 503,
        )
