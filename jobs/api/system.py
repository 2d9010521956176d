"""Manifest, health, readiness and reset. Spec: contract 3.8, 3.9, 24, 32.1."""

from typing import Any

from django_prometheus.exports import ExportToDjangoView
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import extensions
from jobs.api.base import (
    OJS_TYPE,
    OJS_VERSION,
    Negotiation,
    OJSView,
    Renderer,
)
from jobs.conf import conf
from jobs.domain.errors import NotFound
from jobs.domain.times import format_time
from jobs.services.exposition import exposition
from jobs.services.health import Health, health, is_migrated, uptime_seconds
from jobs.services.reset import reset

VERSION = "0.1.0"
CORE = (
    extensions.Facts("dead-letter", "urn:ojs:ext:dead-letter", "1.0.0"),
    extensions.Facts("x-batch-ack", "urn:ojs:ext:x-batch-ack", "1.0.0", tier="experimental"),
)
CAPABILITIES = {
    "batch_enqueue": True,
    "cron_jobs": False,
    "dead_letter": True,
    "delayed_jobs": True,
    "job_ttl": True,
    "priority_queues": True,
    "rate_limiting": False,
    "schema_validation": False,
    "unique_jobs": False,
    "workflows": False,
    "pause_resume": True,
}


class Manifest(OJSView):
    """What this server can do, computed from what is installed."""

    scopes = {"GET": None}

    def get(self, request: Request) -> Response:
        """Show the manifest."""
        facts = [*CORE, *(f for hook in extensions.having("manifest") if (f := hook()))]
        capabilities = dict(CAPABILITIES)
        for fact in facts:
            capabilities |= fact.capabilities
        base = request.build_absolute_uri("/ojs/v1")
        return Response(
            {
                "specversion": OJS_VERSION,
                "ojs_version": OJS_VERSION,
                "implementation": {
                    "name": "ojs-django",
                    "version": VERSION,
                    "language": "python",
                    "homepage": conf().homepage,
                },
                "conformance_level": _level(capabilities),
                "conformance_tier": "runtime",
                "protocols": ["http"],
                "backend": "postgres",
                "capabilities": capabilities,
                "extensions": [fact.name for fact in facts],
                "extension_details": _details(facts),
                "schema_validation": capabilities["schema_validation"],
                "unique_job_strength": "strong" if capabilities["unique_jobs"] else "none",
                "event_delivery": "at_least_once",
                "limits": _limits(),
                "endpoints": {
                    "base_url": base,
                    "manifest": "/ojs/manifest",
                    "health": "/ojs/v1/health",
                },
            }
        )


def _level(capabilities: dict[str, bool]) -> int:
    needed = (
        ("cron_jobs", "delayed_jobs", "job_ttl"),
        ("workflows",),
        ("priority_queues", "unique_jobs", "batch_enqueue", "rate_limiting"),
    )
    level = 1
    for names in needed:
        if not all(capabilities[name] for name in names):
            break
        level += 1
    return level


def _details(facts: list[extensions.Facts]) -> dict[str, list[dict[str, str]]]:
    return {
        tier: [
            {"name": fact.name, "uri": fact.uri, "version": fact.version}
            for fact in facts
            if fact.tier == tier
        ]
        for tier in ("official", "experimental")
    }


def _limits() -> dict[str, Any]:
    return {
        "max_envelope_bytes": conf().max_envelope_bytes,
        "max_meta_bytes": conf().max_meta_bytes,
        "max_queue_name_bytes": 128,
        "max_job_type_bytes": 255,
        "max_result_bytes": conf().max_result_bytes,
        "max_batch_size": conf().max_batch,
        "supported_compression": [],
    }


class HealthView(OJSView):
    """Is the server well."""

    scopes = {"GET": None}

    def get(self, request: Request) -> Response:
        """Show health; 503 when the database does not answer."""
        found = health()
        return Response(
            {
                "status": "ok" if found.is_well else "degraded",
                "version": VERSION,
                "specversion": OJS_VERSION,
                "uptime_seconds": uptime_seconds(),
                "backend": _backend(found),
                **_system(found),
            },
            status=503 if found.error else 200,
            headers={"Cache-Control": "no-store"},
        )


def _backend(found: Health) -> dict[str, Any]:
    if found.error:
        return {"type": "postgres", "status": "unhealthy", "latency_ms": 0, "error": found.error}
    status = "degraded" if found.is_slow else "ok"
    return {"type": "postgres", "status": status, "latency_ms": found.latency_ms}


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

    scopes = {"GET": None}

    def get(self, request: Request) -> Response:
        """Say so."""
        return Response({"status": "ok"})


class Ready(OJSView):
    """Whether to send requests here."""

    scopes = {"GET": None}

    def get(self, request: Request) -> Response:
        """Check the database and its tables; loops may run elsewhere and are only reported."""
        found = health()
        is_current = not found.error and is_migrated()
        checks = {
            "database": found.error or "ok",
            "migrations": "ok" if is_current else "missing",
            "loops": "ok" if found.is_ticking else "stale",
        }
        shown = {"status": "ready" if is_current else "not_ready", "checks": checks}
        return Response(shown, status=200 if is_current else 503)


class TextRenderer(Renderer):
    """Prometheus text; the exact type `text/plain` when the client asks for just that."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"


class PlainTextRenderer(Renderer):
    """The same without parameters. Spec: contract 32.4."""

    media_type = "text/plain"


class MetricsNegotiation(Negotiation):
    """Choose the spelling of the text type."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        """Answer `Accept: text/plain` with exactly that."""
        is_plain = request.META.get("HTTP_ACCEPT", "").strip() == "text/plain"
        chosen = renderers[1] if is_plain else renderers[0]
        return chosen, chosen.media_type


class Metrics(OJSView):
    """Everything Prometheus may know."""

    scopes = {"GET": "ojs:admin:read"}
    renderer_classes = [TextRenderer, PlainTextRenderer]
    content_negotiation_class = MetricsNegotiation

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Need no key when the deployment says so."""
        if not conf().metrics_public:
            super().initial(request, *args, **kwargs)

    def get(self, request: Request) -> Response:
        """Show the lifecycle metrics and those of the server processes."""
        processes = ExportToDjangoView(request).content
        return Response(exposition() + processes)

    def handle_exception(self, exc: Exception) -> Response:
        """Errors are JSON here, too."""
        self.request.accepted_renderer = Renderer()
        self.request.accepted_media_type = OJS_TYPE
        return super().handle_exception(exc)


class Reset(OJSView):
    """Wipe everything; exists only for test runs."""

    scopes = {"POST": "ojs:admin:purge"}

    def post(self, request: Request) -> Response:
        """Forget all jobs. 404 unless OJS_ALLOW_RESET is on."""
        if not conf().allow_reset:
            raise NotFound("no such resource")
        reset()
        return Response(None, status=204)
