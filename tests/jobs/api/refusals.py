"""Helpers for tests of refusals: all operations, a valid request for each, the error shape."""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import orjson
import pytest
from hypothesis import HealthCheck, settings

from jobs.api.server.docs import document
from jobs.api.wire.media import OJS_TYPE
from tests.effort import examples

DOCUMENT: dict[str, Any] = orjson.loads(document())
JOB_ID = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"  # no job has this id
JOB = {"type": "mail.send", "args": []}
CRON = {"name": "mail", "expression": "0 * * * *", "type": "mail.send"}
# One valid request for each operation that takes a body
HANDLERS = [{"type": "mail.send", "versions": ">=1.0 <3.0", "accept_unversioned": True}]
REVISION = {
    "federation_id": JOB_ID, "origin_region": "eu", "job_id": JOB_ID, "type": "mail.send",
    "queue": "mail", "state": "available", "priority": 0, "attempt": 0,
    "created_at": "2026-05-04T12:00:00Z", "enqueued_at": "2026-05-04T12:00:00Z",
    "completed_at": None, "revision": 1, "tenant_id": "_default",
}  # fmt: skip
CLAIM = {
    "federation_id": JOB_ID, "tenant_id": "_default", "job_id": JOB_ID,
    "enqueued_at": "2026-05-04T12:00:00Z", "started": False,
}  # fmt: skip
BODIES: dict[str, dict[str, Any]] = {
    "createJob": JOB,
    "createJobs": {"jobs": [JOB]},
    "activateJob": {},
    "reportProgress": {"progress": 0.5},
    "saveCheckpoint": {"state": {"page": 7}},
    "saveCheckpointByPost": {"state": {"page": 7}},
    "sendSignal": {"payload": 1},
    "suspendJob": {"step": "approval", "signals": ["approved"]},
    "reportPercentage": {"job_id": JOB_ID, "percentage": 50},
    "fetchJobs": {"queues": ["default"], "handlers": HANDLERS},
    "ackJob": {"job_id": JOB_ID},
    "ackJobs": {"acks": [{"job_id": JOB_ID}]},
    "ackJobByPath": {"result": 1},
    "nackJobByPath": {"error": {"code": "x"}},
    "nackJob": {"job_id": JOB_ID, "error": {"code": "x"}},
    "nackJobs": {"nacks": [{"job_id": JOB_ID, "error": {"code": "x"}}]},
    "heartbeat": {"worker_id": "w1", "handlers": HANDLERS},
    "beat": {"worker_id": "w1", "handlers": HANDLERS},
    "pauseQueue": {},
    "resumeQueue": {},
    "retryDeadLetterJob": {"override": {}},
    "directWorker": {},
    "changeJob": {"priority": 5},
    "adminChangeJob": {"priority": 5},
    "adminRetryJob": {"override": {}},
    "adminCancelJob": {},
    "adminRetryFromStep": {"step": "label"},
    "adminPauseQueue": {},
    "adminResumeQueue": {},
    "directWorkers": {"directive": "resume"},
    "emptyDeadLetter": {"confirm": True},
    "adminEmptyDeadLetter": {"confirm": True},
    "retryDeadLetter": {"confirm": True},
    "adminRetryDeadLetter": {"confirm": True},
    "adminRetryDeadLetterJob": {"override": {}},
    "setReplayRules": {"rules": [{"name": "all"}]},
    "setMaintenance": {"enabled": False},
    "setMaintenanceShort": {"enabled": False},
    "registerCron": CRON,
    "registerCronAlias": CRON,
    "changeCron": CRON,
    "changeCronAlias": CRON,
    "triggerCron": {},
    "triggerCronAlias": {},
    "pauseCron": {},
    "pauseCronAlias": {},
    "resumeCron": {},
    "resumeCronAlias": {},
    "createSubscription": {"url": "https://example.org/hooks", "events": ["job.*"]},
    "patchSubscription": {"active": True},
    "putSubscription": {"active": True},
    "testSubscription": {},
    "muteFinding": {"reason": "known", "duration": "4h"},
    "unmuteFinding": {},
    "putAttentionRule": {"enabled": True},
    "rotateSecret": {},
    "retryDelivery": {},
    "bulkEnqueue": {"jobs": [JOB]},
    "bulkCancel": {"job_ids": [JOB_ID]},
    "bulkRetry": {"job_ids": [JOB_ID]},
    "bulkDelete": {"job_ids": [JOB_ID]},
    "adminBulkCancel": {"filter": {}, "confirm": True},
    "adminBulkRetry": {"filter": {}, "confirm": True},
    "adminBulkDelete": {"filter": {}, "confirm": True},
    "adminBulkPreview": {"action": "cancel", "filter": {}},
    "adminUndoOperation": {"confirm": True},
    "createQueue": {"name": "made"},
    "deleteQueue": {},
    "purgeQueue": {},
    "purgeQueueJobs": {"confirm": True},
    "setQueueConfig": {"concurrency": 3},
    "configureQueue": {"concurrency": 3},
    "setQueueRateLimit": {"limit": 3, "period": "PT1S"},
    "overrideRateLimit": {"concurrency": 3},
    "setRateLimitOverride": {"concurrency": 3},
    "createWorkflow": {"type": "chain", "steps": [JOB]},
    "cancelWorkflowByPost": {},
    "registerWorker": {"worker_id": "w1", "handlers": HANDLERS},
    "putPool": {"queues": ["default"]},
    "setSchedulingConfig": {},
    "putTenant": {
        "fairness_weight": 2,
        "limits": {"max_enqueue_rate": {"limit": 3, "period": "PT1M"}},
    },
    "putSchema": {"schema": {"type": "array"}},
    "registerSchemaEntry": {"job_type": "mail.send", "version": "1.0", "schema": {"type": "array"}},
    "checkArgs": {"args": [1]},
    "putRouting": {
        "rules": [{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}],
        "auto_rollback": {"error_rate_threshold": 0.05, "evaluation_window": "PT5M"},
        "plan": {"steps": [5, 50], "bake_time": "PT10M"},
    },
    "promoteRouting": {},
    "pauseRouting": {},
    "resumeRouting": {},
    "rollBackRouting": {},
    "putTenantLimits": {"max_concurrency": 3, "max_enqueue_rate": {"limit": 3, "period": "PT1M"}},
    "suspendTenant": {},
    "resumeTenant": {},
    "releaseTenant": {},
    "placeJob": JOB,
    "placeJobs": {"jobs": [JOB]},
    "routeJob": {"type": "mail.send", "meta": {}},
    "createRegion": {"id": "eu", "url": "https://eu.example.org"},
    "putRegion": {"url": "https://eu.example.org"},
    "patchRegion": {"weight": 2},
    "probeRegion": {},
    "setRegionBreaker": {"state": "open"},
    "drainRegion": {},
    "undrainRegion": {},
    "putFederationConfig": {"topology": "mesh"},
    "replicateJobs": {"jobs": [REVISION]},
    "giveUpJobs": {"region": "us", "jobs": [CLAIM]},
    "adoptJobs": {},
    "forgetRegionCopies": {},
    "restoreConfigVersion": {"confirm": True, "expected": "x"},
    "putNote": {"text": "Call ada."},
    "putProcedure": {
        "about": "queue",
        "subject": "mail",
        "action": "retry",
        "filter": {"queue": "mail"},
    },
}
PATHS = {
    "name": "mail", "worker_id": "w1", "verb": "quiet", "key": "k1", "workflow_id": JOB_ID,
    "subscription_id": "sub_1", "delivery_id": "del_1", "tenant_id": "acme",
    "finding_id": JOB_ID, "rule_id": "queue_late",
    "job_type": "mail.send", "version": "1.0",
    "type": "mail.send", "region_id": "eu", "federation_id": JOB_ID, "number": 1,
    "change": 1, "about": "queue", "subject": "mail",
}  # fmt: skip
OPERATIONS = [
    pytest.param(method.upper(), path, built, id=built["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, built in methods.items()
]
# The in-process client cannot stream, so it gets a refusal; tests/project covers streams
STREAMS = {item.id for item in OPERATIONS if str(item.id).startswith("stream")}
WITH_BODY = [item for item in OPERATIONS if item.id in BODIES]


def is_second(item: Any) -> bool:
    """Return whether the operation is an alias: another path of the same view."""
    return str(item.id).endswith("Alias")


EXAMPLES = settings(
    max_examples=examples(60),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def validator(schema: Mapping[str, Any]) -> jsonschema_rs.Validator:
    whole = {**schema, "components": DOCUMENT["components"]}
    return jsonschema_rs.validator_for(whole, validate_formats=True)


ERROR = validator({"$ref": "#/components/schemas/Error"})


def url(path: str, job_id: str = JOB_ID) -> str:
    return path.format(job_id=job_id, **PATHS)


def assert_refused(answer: Any, *statuses: int) -> dict[str, Any]:
    """Check status and shape of a refusal; return its error."""
    assert answer.status_code in (statuses or range(400, 500)), answer.content[:500]
    assert answer["Content-Type"] == OJS_TYPE
    assert answer["OJS-Version"] == "1.0"
    found: dict[str, Any] = answer.json()
    ERROR.validate(found)
    assert found["error"]["request_id"] == answer["X-Request-Id"]
    error: dict[str, Any] = found["error"]
    return error
