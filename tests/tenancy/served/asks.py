"""Requests for every route and method, listed by the visibility of another tenant's things.

A new route belongs in exactly one of the lists: see test_leaks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.jobs.api.routes import views

# need no key
PUBLIC = """
GET /ojs/manifest
GET /ojs/v1/health
GET /livez
GET /healthz
GET /ready
GET /readyz
GET /health
"""
# refused to callers of one tenant, for any name in the request
OF_ALL_TENANTS = """
GET /ojs/v1/workers
GET /ojs/v1/admin/stats/stream
GET /ojs/v1/queues/{name}/config
PUT /ojs/v1/queues/{name}/config
POST /ojs/v1/queues/{name}/purge
POST /ojs/v1/queues/{name}/pause
POST /ojs/v1/queues/{name}/resume
GET /ojs/v1/middleware
PUT /ojs/v1/admin/queues/{name}/config
DELETE /ojs/v1/admin/queues/{name}/jobs
PUT /ojs/v1/admin/queues/{name}/rate-limit
POST /ojs/v1/admin/jobs/bulk/cancel
POST /ojs/v1/admin/jobs/bulk/retry
POST /ojs/v1/admin/jobs/bulk/delete
POST /ojs/v1/admin/jobs/bulk/preview
POST /ojs/v1/admin/queues/{name}/pause
POST /ojs/v1/admin/queues/{name}/resume
GET /ojs/v1/admin/workers
POST /ojs/v1/admin/workers/directive
GET /ojs/v1/admin/workers/{worker_id}
DELETE /ojs/v1/admin/workers/{worker_id}
POST /ojs/v1/admin/workers/{worker_id}/{verb}
GET /ojs/v1/admin/dead-letter/rules
PUT /ojs/v1/admin/dead-letter/rules
GET /ojs/v1/admin/system/maintenance
POST /ojs/v1/admin/system/maintenance
GET /ojs/v1/admin/maintenance
POST /ojs/v1/admin/maintenance
GET /ojs/v1/admin/system/config
GET /ojs/v1/admin/config
GET /ojs/v1/admin/audit
GET /ojs/v1/admin/observability/health
POST /ojs/v1/admin/reset
GET /ojs/v1/metrics
GET /metrics
GET /ojs/v1/admin/pools
GET /ojs/v1/admin/pools/{name}
PUT /ojs/v1/admin/pools/{name}
DELETE /ojs/v1/admin/pools/{name}
GET /ojs/v1/admin/scheduling/config
PUT /ojs/v1/admin/scheduling/config
GET /ojs/v1/admin/scheduling/stats
GET /ojs/v1/admin/versions/{type}
GET /ojs/v1/admin/versions/{type}/touched
GET /ojs/v1/admin/routing
GET /ojs/v1/admin/routing/{type}
PUT /ojs/v1/admin/routing/{type}
DELETE /ojs/v1/admin/routing/{type}
POST /ojs/v1/admin/routing/{type}/promote
POST /ojs/v1/admin/routing/{type}/pause
POST /ojs/v1/admin/routing/{type}/resume
POST /ojs/v1/admin/routing/{type}/rollback
PUT /ojs/v1/admin/schemas/{job_type}/{version}
POST /ojs/v1/schemas
GET /ojs/v1/admin/federation/regions
POST /ojs/v1/admin/federation/regions
GET /ojs/v1/admin/federation/regions/{region_id}
PUT /ojs/v1/admin/federation/regions/{region_id}
PATCH /ojs/v1/admin/federation/regions/{region_id}
DELETE /ojs/v1/admin/federation/regions/{region_id}
POST /ojs/v1/admin/federation/regions/{region_id}/probe
POST /ojs/v1/admin/federation/regions/{region_id}/breaker
POST /ojs/v1/admin/federation/regions/{region_id}/drain
POST /ojs/v1/admin/federation/regions/{region_id}/undrain
POST /ojs/v1/admin/federation/regions/{region_id}/adopt
POST /ojs/v1/admin/federation/regions/{region_id}/forget
GET /ojs/v1/admin/attention/thresholds
PUT /ojs/v1/admin/attention/thresholds/{rule_id}
POST /ojs/v1/admin/attention/{finding_id}/mute
POST /ojs/v1/admin/attention/{finding_id}/unmute
GET /ojs/v1/admin/attention/notes
GET /ojs/v1/admin/attention/notes/{about}/{subject}
PUT /ojs/v1/admin/attention/notes/{about}/{subject}
DELETE /ojs/v1/admin/attention/notes/{about}/{subject}
GET /ojs/v1/admin/attention/procedures
GET /ojs/v1/admin/attention/procedures/{name}
PUT /ojs/v1/admin/attention/procedures/{name}
DELETE /ojs/v1/admin/attention/procedures/{name}
GET /ojs/v1/admin/config/history
GET /ojs/v1/admin/config/history/{change}
POST /ojs/v1/admin/config/history/{change}/restore
GET /ojs/v1/admin/federation/replication
GET /ojs/federation/backends
GET /ojs/federation/stats
GET /ojs/v1/admin/federation/config
PUT /ojs/v1/admin/federation/config
"""
# only read. The answer must be equal with and without the other tenant. Queries after the path
# name things of that tenant
READS = """
GET /ojs/v1/events ?queue={queue} ?job_id={job_id} ?type=job.enqueued
GET /ojs/v1/jobs ?queue={queue} ?type={type} ?state=available
GET /ojs/v1/jobs/{job_id}
GET /ojs/v1/jobs/{job_id}/progress
GET /ojs/v1/jobs/{job_id}/result
GET /ojs/v1/jobs/{job_id}/retries
GET /ojs/v1/jobs/{job_id}/history
GET /ojs/v1/jobs/{job_id}/checkpoint
GET /ojs/v1/jobs/{job_id}/signals
GET /ojs/v1/events/{job_id}/history
GET /ojs/v1/workers/{worker_id}/health
GET /ojs/v1/queues
GET /ojs/v1/queues/{name}
GET /ojs/v1/queues/{name}/stats
GET /ojs/v1/queues/{name}/priority-stats
GET /ojs/v1/dead-letter ?queue={queue} ?type={type}
GET /ojs/v1/dead-letter/stats
GET /ojs/v1/dead-letter/{job_id}
GET /ojs/v1/unique-jobs ?queue={queue} ?type={type}
GET /ojs/v1/rate-limits
GET /ojs/v1/rate-limits/{key}
GET /ojs/v1/rate-limits/{key}/override
GET /ojs/v1/admin/stats
GET /ojs/v1/admin/stats/history
GET /ojs/v1/admin/queues
GET /ojs/v1/admin/queues/{name}
GET /ojs/v1/admin/jobs ?queue={queue} ?type={type} ?tenant={tenant} ?q={job_id}
GET /ojs/v1/admin/jobs/{job_id}
GET /ojs/v1/admin/jobs/{job_id}/trace
GET /ojs/v1/admin/jobs/{job_id}/explain
GET /ojs/v1/admin/jobs/{job_id}/past
GET /ojs/v1/admin/operations
GET /ojs/v1/admin/operations/{number}
GET /ojs/v1/admin/dead-letter ?queue={queue} ?type={type}
GET /ojs/v1/admin/attention ?state=muted ?state=ended
GET /ojs/v1/admin/attention/{finding_id}
GET /ojs/v1/admin/dead-letter/stats
GET /ojs/v1/admin/dead-letter/{job_id}
GET /ojs/v1/openapi.json
GET /ojs/v1/docs
GET /ojs/v1/cron
GET /ojs/v1/cron/{name}
GET /ojs/v1/cron/{name}/history
GET /ojs/v1/cron/{name}/upcoming
GET /ojs/v1/crons
GET /ojs/v1/crons/{name}
GET /ojs/v1/crons/{name}/history
GET /ojs/v1/crons/{name}/upcoming
GET /ojs/v1/admin/tenants ?q={tenant}
GET /ojs/v1/admin/tenants/{tenant_id}
GET /ojs/v1/admin/tenants/{tenant_id}/stats
GET /ojs/v1/admin/tenants/{tenant_id}/jobs
GET /ojs/v1/webhooks/subscriptions
GET /ojs/v1/webhooks/subscriptions/{subscription_id}
GET /ojs/v1/webhooks/deliveries ?subscription_id={subscription_id}
GET /ojs/v1/webhooks/deliveries/{delivery_id}
GET /ojs/v1/workflows
GET /ojs/v1/workflows/{workflow_id}
GET /ojs/v1/workflows/{workflow_id}/progress
GET /ojs/v1/admin/schemas
GET /ojs/v1/admin/schemas/{job_type}
GET /ojs/v1/admin/schemas/{job_type}/versions
GET /ojs/v1/admin/schemas/{job_type}/diff
GET /ojs/v1/admin/schemas/{job_type}/{version}
GET /ojs/v1/schemas
GET /ojs/v1/schemas/{name}
GET /ojs/v1/schemas/{job_type}/versions
GET /ojs/v1/schemas/{job_type}/versions/{version}
GET /ojs/v1/schemas/{job_type}/{version}
GET /ojs/v1/federation/regions
GET /ojs/v1/federation/health
GET /ojs/v1/federation/jobs/{federation_id}
"""
# endless streams, compared by their events: see test_leaks
STREAMS = """
GET /ojs/v1/jobs/{job_id}/progress/stream
GET /ojs/v1/jobs/{job_id}/events
GET /ojs/v1/events/stream
GET /ojs/v1/queues/{name}/events
"""
# show a tenant's rank among all tenants, or name shared things, as intended
RELATIVE = {
    "/ojs/v1/queues", "/ojs/v1/admin/tenants/{tenant_id}/stats",
    "/ojs/v1/admin/jobs/{job_id}/explain",
}  # fmt: skip
# show whether a name is taken: all tenants of a deployment share its queues
COMMON = {
    "GET /ojs/v1/queues/{name}",
    "GET /ojs/v1/queues/{name}/stats",
    "GET /ojs/v1/queues/{name}/priority-stats",
    "GET /ojs/v1/queues/{name}/events",
    # they share ids of workers, too: the id of another tenant's worker is refused
    "POST /ojs/v1/workers/heartbeat",
    "POST /ojs/v1/workers/beat",
    "POST /ojs/v1/workers/register",
}
# change things. The other tenant's things stay, and the answer equals that for missing things
_JOB = {"type": "tests.noop", "args": []}
_CRON = {"name": "{cron}", "expression": "0 * * * *", "type": "tests.noop"}
_HOOK = {"url": "https://example.org/h", "events": ["job.*"]}
_ONE = {"job_id": "{job_id}"}
_MANY = {"job_ids": ["{job_id}"]}
_ERROR = {"code": "x"}
CHANGES: dict[str, list[Any]] = {
    "POST /ojs/v1/jobs": [
        {**_JOB, "queue": "{queue}"},
        {**_JOB, "meta": {"tenant_id": "{tenant}"}},
        {**_JOB, "type": "{type}", "unique": {"keys": ["type", "queue", "args"]}},
    ],
    "POST /ojs/v1/jobs/batch": [
        {"jobs": [_JOB]},
        {"jobs": [{**_JOB, "meta": {"tenant_id": "{tenant}"}}]},
    ],
    "POST /ojs/v1/jobs/bulk": [
        {"jobs": [_JOB]},
        {"jobs": [{**_JOB, "meta": {"tenant_id": "{tenant}"}}]},
    ],
    "POST /ojs/v1/jobs/bulk/cancel": [_MANY, {"filter": {"queue": "{queue}"}, "confirm": True}],
    "POST /ojs/v1/jobs/bulk/retry": [_MANY, {"filter": {"queue": "{queue}"}, "confirm": True}],
    "POST /ojs/v1/jobs/bulk/delete": [_MANY, {"filter": {"queue": "{queue}"}, "confirm": True}],
    "DELETE /ojs/v1/jobs/{job_id}": [None],
    "PATCH /ojs/v1/jobs/{job_id}": [{"priority": 5}],
    "POST /ojs/v1/jobs/{job_id}/activate": [{}],
    "PUT /ojs/v1/jobs/{job_id}/progress": [{"progress": 0.5}],
    "PUT /ojs/v1/jobs/{job_id}/checkpoint": [{"state": 1}, {"state": 1, "worker_id": "mine"}],
    "POST /ojs/v1/jobs/{job_id}/checkpoint": [{"state": 1}, {"state": 1, "worker_id": "mine"}],
    "DELETE /ojs/v1/jobs/{job_id}/checkpoint": [None],
    "POST /ojs/v1/jobs/{job_id}/signals/{name}": [{"payload": 1}],
    "POST /ojs/v1/jobs/{job_id}/suspend": [{"step": "approval", "signals": ["approved"]}],
    "POST /ojs/v1/workers/progress": [{**_ONE, "percentage": 50}],
    "POST /ojs/v1/workers/fetch": [
        {"queues": ["{queue}"], "count": 50},
        {"queues": ["{queue}"], "worker_id": "mine"},
        {"queues": ["{queue}"], "worker_id": "{worker_id}"},
    ],
    "POST /ojs/v1/workers/ack": [_ONE],
    "POST /ojs/v1/jobs/{job_id}/ack": [{}],
    "POST /ojs/v1/jobs/{job_id}/nack": [{"error": _ERROR}],
    "POST /ojs/v1/workers/ack/batch": [{"acks": [_ONE]}],
    "POST /ojs/v1/workers/nack": [{**_ONE, "error": _ERROR}],
    "POST /ojs/v1/workers/nack/batch": [{"nacks": [{**_ONE, "error": _ERROR}]}],
    **{
        f"POST /ojs/v1/workers/{verb}": [
            {"worker_id": "mine", "active_jobs": ["{job_id}"]},
            {"worker_id": "{worker_id}", "state": "terminate", "hostname": "mine"},
        ]
        for verb in ("heartbeat", "beat", "register")
    },
    "DELETE /ojs/v1/workers/{worker_id}": [None],
    "POST /ojs/v1/queues": [{"name": "{queue}"}],
    "DELETE /ojs/v1/queues/{name}": [{}, {"strategy": "discard"}],
    "PUT /ojs/v1/rate-limits/{key}": [{"concurrency": 3}],
    "DELETE /ojs/v1/rate-limits/{key}": [None],
    "PUT /ojs/v1/rate-limits/{key}/override": [{"concurrency": 3}],
    "DELETE /ojs/v1/rate-limits/{key}/override": [None],
    "PATCH /ojs/v1/admin/jobs/{job_id}": [{"priority": 5}],
    "POST /ojs/v1/admin/operations/{number}/undo": [{"confirm": True}],
    "DELETE /ojs/v1/admin/jobs/{job_id}": [None],
    "POST /ojs/v1/admin/jobs/{job_id}/retry": [{}],
    "POST /ojs/v1/admin/jobs/{job_id}/cancel": [{}],
    "POST /ojs/v1/admin/jobs/{job_id}/retry-from-step": [{"step": "approval"}],
    **{
        f"{method} {root}/dead-letter{rest}": bodies
        for root in ("/ojs/v1", "/ojs/v1/admin")
        for method, rest, bodies in (
            ("DELETE", "", [{"confirm": True}]),
            ("POST", "/retry", [{"confirm": True}, {**_MANY, "confirm": True}]),
            ("POST", "/purge", [{"confirm": True}]),
            ("DELETE", "/{job_id}", [None]),
            ("POST", "/{job_id}/retry", [{}]),
        )
    },
    **{
        f"{method} /ojs/v1/{root}{rest}": bodies
        for root in ("cron", "crons")
        for method, rest, bodies in (
            ("POST", "", [{**_CRON, "name": "mine"}]),
            ("PATCH", "/{name}", [{"expression": "1 * * * *"}]),
            ("DELETE", "/{name}", [None]),
            ("POST", "/{name}/trigger", [{}]),
            ("POST", "/{name}/pause", [{}]),
            ("POST", "/{name}/resume", [{}]),
        )
    },
    "PUT /ojs/v1/admin/tenants/{tenant_id}": [{"fairness_weight": 2}],
    "DELETE /ojs/v1/admin/tenants/{tenant_id}": [None],
    "PUT /ojs/v1/admin/tenants/{tenant_id}/limits": [{"max_concurrency": 3}],
    "DELETE /ojs/v1/admin/tenants/{tenant_id}/throttle": [None],
    "POST /ojs/v1/admin/tenants/{tenant_id}/suspend": [{}],
    "POST /ojs/v1/admin/tenants/{tenant_id}/resume": [{}],
    "POST /ojs/v1/webhooks/subscriptions": [_HOOK],
    "PATCH /ojs/v1/webhooks/subscriptions/{subscription_id}": [{"active": False}],
    "PUT /ojs/v1/webhooks/subscriptions/{subscription_id}": [{"active": False}],
    "DELETE /ojs/v1/webhooks/subscriptions/{subscription_id}": [None],
    "POST /ojs/v1/webhooks/subscriptions/{subscription_id}/test": [{}],
    "POST /ojs/v1/webhooks/subscriptions/{subscription_id}/rotate-secret": [{}],
    "POST /ojs/v1/webhooks/deliveries/{delivery_id}/retry": [{}],
    "POST /ojs/v1/workflows": [
        {"type": "chain", "steps": [_JOB]},
        {"type": "chain", "steps": [{**_JOB, "meta": {"tenant_id": "{tenant}"}}]},
    ],
    "POST /ojs/v1/admin/schemas/{job_type}/validate": [{"args": []}],
    "DELETE /ojs/v1/admin/schemas/{job_type}": [None],
    "DELETE /ojs/v1/admin/schemas/{job_type}/{version}": [None],
    "DELETE /ojs/v1/schemas/{name}": [None],
    "DELETE /ojs/v1/schemas/{job_type}/versions/{version}": [None],
    "DELETE /ojs/v1/schemas/{job_type}/{version}": [None],
    "POST /ojs/v1/federation/route": [{"meta": {"tenant_id": "{tenant}"}}],
    "POST /ojs/v1/federation/jobs": [_JOB, {**_JOB, "meta": {"tenant_id": "{tenant}"}}],
    "POST /ojs/v1/federation/replicate": [{"jobs": [{"tenant_id": "{tenant}"}]}],
    "POST /ojs/v1/federation/give-up": [{"region": "eu", "jobs": [{"tenant_id": "{tenant}"}]}],
    "POST /ojs/v1/federation/jobs/batch": [
        {"jobs": [_JOB]},
        {"jobs": [{**_JOB, "meta": {"tenant_id": "{tenant}"}}]},
    ],
    "DELETE /ojs/v1/workflows/{workflow_id}": [None],
    "POST /ojs/v1/workflows/{workflow_id}/cancel": [{}],
}


@dataclass(frozen=True, slots=True)
class Ask:
    """A request whose path, query and body name things in braces."""

    method: str
    path: str
    body: Any = None


def routes() -> list[str]:
    """Return every method of every route once, even if several patterns lead to it."""
    return sorted(
        {
            f"{method} /{path}"
            for path, view in views()
            for method in set(view().allowed_methods) - {"OPTIONS", "HEAD"}
        }
    )


def lines(text: str) -> list[str]:
    """Return the requests of a list."""
    return [" ".join(line.split()[:2]) for line in text.split("\n") if line]


def reads() -> Iterator[Ask]:
    """Yield the requests that only read."""
    for line in filter(None, READS.split("\n")):
        method, path, *queries = line.split()
        yield Ask(method, path)
        yield from (Ask(method, path + query) for query in queries)


def streams() -> Iterator[Ask]:
    """Yield the requests for endless streams."""
    for route in lines(STREAMS):
        yield Ask(*route.split())


def changes() -> Iterator[Ask]:
    """Yield the requests that change something."""
    for route, bodies in CHANGES.items():
        method, path = route.split()
        yield from (Ask(method, path, body) for body in bodies)


def refused() -> Iterator[Ask]:
    """Yield the requests that callers of one tenant may not send."""
    for route in lines(OF_ALL_TENANTS):
        method, path = route.split()
        yield Ask(method, path, None if method == "GET" else {"confirm": True})
