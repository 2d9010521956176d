"""GET /ojs/manifest: features of this server, from the installed apps. Spec: contract 3.9.

A feature is named here once: its capabilities, its name as an extension and its paths. A test
compares the list with the routes of the server.
"""

from typing import Any, Final

from rest_framework.request import Request

from jobs import VERSION
from jobs.api.base import OJSView
from jobs.api.mount import API, mount_of
from jobs.api.mount import MANIFEST as MANIFEST_PATH
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, array, component, integer, obj, text
from jobs.api.wire.answer import Answer
from jobs.api.wire.media import OJS_VERSION, SERVED
from jobs.conf import conf
from jobs.domain.wire.bounds import MAX_QUEUE, MAX_TYPE
from jobs.extensions import Facts, ReportHooks, implementers

CORE_TIER: Final = "core"  # features that are no extension
CORE: Final = (
    Facts(
        "jobs",
        "",
        OJS_VERSION,
        tier=CORE_TIER,
        capabilities={
            "batch_enqueue": True, "delayed_jobs": True, "job_ttl": True, "priority_queues": True,
            "unique_jobs": True, "pause_resume": True,
        },
        paths=("jobs", "workers", "queues", "events", "unique-jobs", "middleware", "health",
               "openapi.json", "docs", "admin/reset"),
    ),
    Facts(
        "dead-letter",
        "urn:ojs:ext:dead-letter",
        "1.0.0",
        capabilities={"dead_letter": True},
        paths=("dead-letter", "admin/dead-letter"),
    ),
    Facts(
        "admin-api",
        "urn:ojs:ext:admin-api",
        "1.0.0",
        capabilities={"admin_api": True},
        paths=("admin/stats", "admin/queues", "admin/jobs", "admin/workers", "admin/system",
               "admin/maintenance", "admin/config", "admin/audit", "admin/observability",
               "admin/operations"),
    ),
    Facts(
        "rate-limiting",
        "urn:ojs:ext:rate-limiting",
        "1.0.0",
        capabilities={"rate_limiting": True},
        paths=("rate-limits", "admin/queues/{name}/rate-limit"),
    ),
    Facts(
        "backpressure",
        "urn:ojs:ext:backpressure",
        "1.0.0",
        capabilities={"backpressure": True},
        paths=("queues/{name}/config", "admin/queues/{name}/config"),
    ),
    Facts(
        "progress",
        "urn:ojs:ext:progress",
        "1.0.0",
        capabilities={"progress": True},
        paths=("jobs/{job_id}/progress", "workers/progress"),
    ),
    Facts("observability", "urn:ojs:ext:observability", "1.0.0", paths=("metrics",)),
    Facts("graceful-shutdown", "urn:ojs:ext:graceful-shutdown", "1.0.0",
          paths=("workers/heartbeat", "admin/workers/{worker_id}/{verb}")),
    Facts(
        "x-batch-ack",
        "urn:ojs:ext:x-batch-ack",
        "1.0.0",
        tier="experimental",
        paths=("workers/ack/batch", "workers/nack/batch"),
    ),
)  # fmt: skip
REALTIME: Final = Facts(
    "realtime",
    "urn:ojs:ext:realtime",
    "1.0.0",
    capabilities={"realtime": True},
    paths=("events/stream", "jobs/{job_id}/events", "queues/{name}/events",
           "jobs/{job_id}/progress/stream", "admin/stats/stream"),
)  # fmt: skip
# false where no installed app has them
NAMED: Final = (
    "batch_enqueue", "cron_jobs", "dead_letter", "delayed_jobs", "job_ttl", "priority_queues",
    "rate_limiting", "schema_validation", "unique_jobs", "workflows", "pause_resume",
)  # fmt: skip
TOP_LEVEL: Final = 4  # of conformance
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
            "conformance_level": integer(0, TOP_LEVEL),
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


def installed(*, is_live: bool = True) -> list[Facts]:
    """Return the features of this server; `is_live`: it can send event streams."""
    found = [*CORE, *([REALTIME] if is_live else [])]
    for extension in implementers(ReportHooks.manifest):
        found += extension.manifest()
    return found


class Manifest(OJSView):
    """The features of this server, from the installed apps."""

    @operation("getManifest", {200: MANIFEST})
    def get(self, request: Request) -> Answer:
        """Show the manifest."""
        features = installed(is_live=bool(self.http.META.get(SERVED)))
        facts = [one for one in features if one.tier != CORE_TIER]
        capabilities = dict.fromkeys(NAMED, False)
        for one in features:
            capabilities |= one.capabilities
        mount = mount_of(self.http, MANIFEST_PATH)
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
                    "base_url": request.build_absolute_uri(f"{mount}{API}"),
                    "manifest": f"{mount}{MANIFEST_PATH}",
                    "health": f"{mount}{API}/health",
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


def _details(facts: list[Facts]) -> dict[str, list[dict[str, str]]]:
    return {
        tier: [
            {"name": fact.name, "uri": fact.uri, "version": fact.version, **fact.details}
            for fact in facts
            if fact.tier == tier
        ]
        for tier in ("official", "experimental")
    }


def _limits() -> dict[str, Any]:
    return {
        "max_envelope_bytes": conf().max_envelope_bytes,
        "max_meta_bytes": conf().max_meta_bytes,
        "max_queue_name_bytes": MAX_QUEUE,
        "max_job_type_bytes": MAX_TYPE,
        "max_result_bytes": conf().max_result_bytes,
        "max_batch_size": conf().max_batch,
        "supported_compression": [],
    }
