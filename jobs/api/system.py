"""Manifest and reset. Spec: contract 3.2, 3.9."""

from typing import Any

from rest_framework.request import Request

from jobs import VERSION, extensions
from jobs.api.answer import Answer
from jobs.api.base import OJSView
from jobs.api.media import OJS_VERSION, SERVED
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, array, component, integer, obj, text
from jobs.conf import conf
from jobs.domain.errors import NotFound
from jobs.services.reset import reset

CORE = (
    extensions.Facts("dead-letter", "urn:ojs:ext:dead-letter", "1.0.0"),
    extensions.Facts("x-batch-ack", "urn:ojs:ext:x-batch-ack", "1.0.0", tier="experimental"),
)
REALTIME = extensions.Facts(
    "realtime", "urn:ojs:ext:realtime", "1.0.0", capabilities={"realtime": True}
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
    "unique_jobs": True,
    "workflows": False,
    "pause_resume": True,
}


DETAIL = array(obj({"name": text(1), "uri": text(1), "version": text(1)}))
MANIFEST = component(
    "Manifest",
    obj(
        {
            "specversion": {"const": OJS_VERSION},
            "ojs_version": {"const": OJS_VERSION},
            "implementation": obj(
                {name: text(1) for name in ("name", "version", "language", "homepage")}
            ),
            "conformance_level": integer(0, 4),
            "conformance_tier": text(1),
            "protocols": array(text(1)),
            "backend": {"const": "postgres"},
            "capabilities": {"type": "object", "additionalProperties": BOOLEAN},
            "extensions": array(text(1)),
            "extension_details": obj({"official": DETAIL, "experimental": DETAIL}),
            "schema_validation": BOOLEAN,
            "unique_job_strength": {"type": "string", "enum": ["strong", "none"]},
            "event_delivery": {"const": "at_least_once"},
            "limits": obj(
                {
                    **{
                        name: integer(1)
                        for name in (
                            "max_envelope_bytes", "max_meta_bytes", "max_queue_name_bytes",
                            "max_job_type_bytes", "max_result_bytes", "max_batch_size",
                        )
                    },
                    "supported_compression": array(text(1)),
                }
            ),
            "endpoints": {"type": "object", "additionalProperties": text(1)},
        }
    ),
)  # fmt: skip


class Manifest(OJSView):
    """What this server can do, computed from what is installed."""

    @operation("getManifest", {200: MANIFEST})
    def get(self, request: Request) -> Answer:
        """Show the manifest."""
        live = (REALTIME,) if self.http.META.get(SERVED) else ()
        facts = [*CORE, *live, *(f for hook in extensions.having("manifest") if (f := hook()))]
        capabilities = dict(CAPABILITIES)
        for fact in facts:
            capabilities |= fact.capabilities
        base = request.build_absolute_uri("/ojs/v1")
        return Answer(
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


class Reset(OJSView):
    """Wipe everything; exists only for test runs."""

    @operation("reset", {204: None}, refusals=(404,))
    def post(self, request: Request) -> Answer:
        """Forget all jobs. 404 unless OJS_ALLOW_RESET is on."""
        if not conf().allow_reset:
            raise NotFound("no such resource")
        reset()
        return Answer(None, status=204)
