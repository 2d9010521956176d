"""Key scopes of every route, and expiry of keys. Spec: contract 31."""

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.api.access import access
from jobs.api.queues.queues import QueueCollection
from jobs.api.wire.media import OJS_TYPE
from jobs.conf import Conf, conf
from jobs.domain.access import keys
from jobs.models import ApiKey
from jobs.services.access import api_keys
from tests.jobs.api.refusals import BODIES, OPERATIONS, PATHS, STREAMS, url
from tests.jobs.api.routes import views

Keys = Callable[..., dict[str, str]]


def twice(*names: str) -> list[str]:
    """Add the alias of each operation."""
    return [*names, *(f"{name}Alias" for name in names)]


PUBLIC = {
    "/ojs/manifest", "/ojs/v1/health", "/health", "/healthz", "/livez", "/ready", "/readyz",
}  # fmt: skip
# Scopes that the contract requires, by operation
SCOPES = {
    "ojs:data:enqueue": {
        "createWorkflow", "createJob", "createJobs", "activateJob", "bulkEnqueue",
        *twice("registerCron", "changeCron", "deleteCron"),
        *twice("triggerCron", "pauseCron", "resumeCron"),
        "sendSignal",
    },
    "ojs:data:fetch": {
        "registerWorker", "deregisterWorker",
        "fetchJobs", "ackJob", "ackJobs", "ackJobByPath", "nackJob", "nackJobs",
        "nackJobByPath", "heartbeat", "beat",
        "reportProgress", "reportPercentage",
        "saveCheckpoint", "saveCheckpointByPost", "deleteCheckpoint", "suspendJob",
    },
    "ojs:data:read": {
        "listSchemaEntries", "getSchemaEntry", "listSchemaEntryVersions", "getSchemaEntryVersion",
        "getSchemaEntryVersionShort",
        "listWorkflows", "getWorkflow", "getWorkflowProgress",
        "getJob", "getProgress", "listQueues", "getQueue", "getQueueStats", "listDeadLetter",
        "listEvents", "getWorkerHealth", "getOpenAPI", "getDocs", "listJobs", "getJobResult",
        "getJobRetries", "getQueuePriorities", "getDeadLetterStats", "getDeadLetterJob",
        "getJobHistory", "getEventHistory", "streamEvents", "streamJobEvents", "streamQueueEvents",
        "streamProgress", "listSubscriptions", "getSubscription", "listDeliveries", "getDelivery",
        "getQueueConfig", "listFederationRegions", "routeJob", "getFederationHealth",
        "getFederatedJob", "listRateLimits", "getRateLimit", "getRateLimitOverride",
        *twice("listCrons", "getCron", "getCronHistory", "getCronUpcoming"),
        "listUniqueJobs", "listMiddleware",
        "getCheckpoint", "listSignals",
    },
    "ojs:data:cancel": {
        "cancelWorkflow", "cancelWorkflowByPost",
        "cancelJob", "pauseQueue", "resumeQueue", "retryDeadLetterJob", "deleteDeadLetterJob",
        "bulkCancel", "bulkRetry",
        "changeJob", "retryDeadLetter",
    },
    "ojs:admin:read": {
        "listSchemas", "getSchemas", "listSchemaVersions", "diffSchemas", "checkArgs", "getSchema",
        "getMetrics", "getMetricsSummary", "getSystemStats", "getStatsHistory", "adminListQueues",
        "adminGetQueue", "adminListJobs", "adminGetJob", "adminGetPastJob", "adminTraceJob",
        "adminExplainJob", "adminListWorkers",
        "listWorkers", "adminGetWorker", "adminListDeadLetter", "adminGetDeadLetterStats",
        "adminGetDeadLetterJob", "getReplayRules", "getMaintenance", "getMaintenanceShort",
        "getConfiguration", "getConfigurationShort", "listAudit", "getObservabilityHealth",
        "adminListOperations", "adminGetOperation", "adminBulkPreview",
        "listConfigHistory", "getConfigChange", "listNotes", "getNote", "listProcedures",
        "getProcedure",
        "streamStats", "listPools", "getPool", "getSchedulingConfig", "getSchedulingStats",
        "listTenants", "getTenant", "getTenantStats", "listTenantJobs", "getTypeVersions",
        "listTouchedJobs",
        "listRegions", "getRegion", "getFederationConfig", "getReplication",
        "listFederationBackends", "getFederationStats",
        "listRouting", "getRouting",
        "listFindings", "getFinding", "listAttentionRules",
    },
    "ojs:federation:write": {"placeJob", "placeJobs", "replicateJobs", "giveUpJobs"},
    "ojs:webhooks:write": {
        "createSubscription", "patchSubscription", "putSubscription", "deleteSubscription",
        "testSubscription", "rotateSecret", "retryDelivery",
    },
    "ojs:admin:write": {
        "adminBulkCancel", "adminBulkRetry", "adminUndoOperation", "restoreConfigVersion",
        "putNote", "deleteNote", "putProcedure", "deleteProcedure",
        "directWorker", "directWorkers", "adminDeleteWorker", "adminPauseQueue",
        "adminResumeQueue", "adminChangeJob", "adminDeleteJob", "adminRetryJob", "adminCancelJob",
        "adminRetryFromStep",
        "adminDeleteDeadLetterJob", "adminRetryDeadLetterJob", "adminRetryDeadLetter",
        "setReplayRules", "setMaintenance", "setMaintenanceShort", "createQueue",
        "setQueueConfig", "configureQueue", "setQueueRateLimit", "overrideRateLimit",
        "setRateLimitOverride", "endRateLimitOverride", "deleteRateLimitOverride",
        "putPool", "deletePool", "setSchedulingConfig",
        "putSchema", "deleteSchema", "deleteSchemas", "registerSchemaEntry", "deleteSchemaEntry",
        "deleteSchemaEntryVersion", "deleteSchemaEntryVersionShort",
        "putTenant", "putTenantLimits", "deleteTenant", "suspendTenant", "resumeTenant",
        "releaseTenant", "createRegion", "putRegion", "patchRegion", "deleteRegion", "probeRegion",
        "setRegionBreaker", "drainRegion", "undrainRegion", "putFederationConfig", "adoptJobs",
        "putRouting", "deleteRouting", "promoteRouting", "pauseRouting", "resumeRouting",
        "rollBackRouting",
        "muteFinding", "unmuteFinding", "putAttentionRule",
    },
    "ojs:admin:purge": {
        "deleteQueue", "purgeQueue", "purgeQueueJobs", "bulkDelete", "adminBulkDelete",
        "reset", "emptyDeadLetter", "adminEmptyDeadLetter", "purgeDeadLetter",
        "adminPurgeDeadLetter", "forgetRegionCopies",
    },
}  # fmt: skip
# These operations refuse because the test server belongs to no federation
FEDERATED = {
    "placeJob", "placeJobs", "routeJob", "putFederationConfig", "getFederatedJob", "replicateJobs",
    "adoptJobs", "giveUpJobs",
}  # fmt: skip
GUARDED = [item for item in OPERATIONS if item.values[1] not in PUBLIC]


def _call(api: Client, method: str, path: str, name: str, headers: dict[str, str]) -> Any:
    body = json.dumps(BODIES.get(name, {}))
    return api.generic(method, url(path), body, content_type=OJS_TYPE, headers=headers)


def _scope_of(name: str) -> str:
    return next(scope for scope, names in SCOPES.items() if name in names)


def test_every_method_of_every_route_declares_its_scope() -> None:
    for _, view in views():
        methods = set(view().allowed_methods) - {"OPTIONS", "HEAD"}
        for method in methods:
            wanted = view.required(method)
            assert wanted is not None, (view, method)
            assert wanted.scope in keys.SCOPES | {None}, (view, method)


def test_every_operation_is_in_the_matrix() -> None:
    assert {item.id for item in GUARDED} == set().union(*SCOPES.values())


def test_route_without_a_scope_is_closed(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QueueCollection, "required", lambda *_: None)

    assert api.get("/ojs/v1/queues").status_code == 403
    assert api.options("/ojs/v1/queues").status_code == 204
    assert api.delete("/ojs/v1/queues").status_code == 405


@pytest.mark.parametrize(("method", "path", "operation"), GUARDED)
def test_request_without_a_key_is_unauthenticated(
    api: Client, with_keys: None, method: str, path: str, operation: dict[str, Any]
) -> None:
    answer = _call(api, method, path, operation["operationId"], {})

    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthenticated"
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(("method", "path", "operation"), GUARDED)
def test_request_with_all_scopes_but_its_own_is_denied(
    api: Client, new_key: Keys, method: str, path: str, operation: dict[str, Any]
) -> None:
    name = operation["operationId"]
    needed = _scope_of(name)

    answer = _call(api, method, path, name, new_key(*keys.SCOPES - {needed}))

    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "permission_denied"
    assert answer.json()["error"]["details"]["operation"] == needed


@pytest.mark.parametrize(("method", "path", "operation"), GUARDED)
def test_request_with_its_scope_alone_passes(
    api: Client, new_key: Keys, method: str, path: str, operation: dict[str, Any]
) -> None:
    name = operation["operationId"]

    answer = _call(api, method, path, name, new_key(_scope_of(name)))

    expected = {200, 201, 204, 404} | ({503} if name in STREAMS else set())
    assert answer.status_code in expected | ({409, 422} if name in FEDERATED else set())
    assert operation["x-ojs-scope"] == _scope_of(name)


@pytest.mark.parametrize(
    ("role", "scopes"),
    [
        ("producer", {"ojs:data:enqueue"}),
        ("worker", {"ojs:data:fetch"}),
        ("operator", {"ojs:data:enqueue", "ojs:data:cancel", "ojs:data:read", "ojs:admin:read"}),
        ("ojs:data:write", {"ojs:data:enqueue", "ojs:data:fetch", "ojs:data:cancel"}),
        ("admin", keys.SCOPES),
    ],
)
def test_role_grants_its_scopes(api: Client, new_key: Keys, role: str, scopes: set[str]) -> None:
    headers = new_key(role)

    for item in GUARDED:
        method, path, _ = item.values
        name = str(item.id)
        answer = _call(api, str(method), str(path), name, headers)
        assert (answer.status_code != 403) is (_scope_of(name) in scopes), name


def _status(api: Client, headers: dict[str, str]) -> tuple[int, str | None]:
    answer = api.get("/ojs/v1/queues", headers=headers)
    if answer.status_code == 200:
        return 200, None
    return answer.status_code, answer.json()["error"]["details"].get("reason")


def test_key_is_taken_in_both_headers(api: Client, new_key: Keys) -> None:
    text = new_key("operator")["Authorization"].removeprefix("Bearer ")

    assert _status(api, {"X-API-Key": text}) == (200, None)
    assert _status(api, {"Authorization": f"bearer  {text} "}) == (200, None)
    assert _status(api, {"Authorization": f"Basic {text}"}) == (401, None)


@pytest.mark.parametrize("name", ["access_token", "api_key", "key", "X-API-Key"])
def test_key_in_the_query_counts_for_nothing(api: Client, new_key: Keys, name: str) -> None:
    text = new_key("admin")["Authorization"].removeprefix("Bearer ")

    assert api.get("/ojs/v1/queues", {name: text}).status_code == 401


def test_key_with_another_secret_is_refused(api: Client, new_key: Keys) -> None:
    mine, other = (new_key("admin")["Authorization"] for _ in range(2))
    swapped = mine[:20] + other[20:]

    assert _status(api, {"Authorization": swapped}) == (401, None)
    assert _status(api, {"Authorization": mine[:-1]}) == (401, None)
    assert _status(api, {"Authorization": mine + "x"}) == (401, None)
    assert _status(api, {"Authorization": mine}) == (200, None)


def test_secret_is_compared_in_constant_time(
    api: Client, new_key: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = new_key("operator")
    compared: list[tuple[bytes, bytes]] = []

    def record(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", record)
    assert _status(api, headers) == (200, None)

    stored = bytes(ApiKey.objects.get().secret_hash)
    secret = headers["Authorization"].split("_", 2)[2]
    assert compared == [(hashlib.sha256(secret.encode()).digest(), stored)]


def test_store_holds_no_secret(api: Client, new_key: Keys) -> None:
    secret = new_key("operator")["Authorization"].split("_", 2)[2]

    row = str(ApiKey.objects.values().get())

    assert secret not in row
    assert secret.encode() not in bytes(ApiKey.objects.get().secret_hash)


def test_revoked_key_stops_within_the_time_of_the_cache(
    api: Client, new_key: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = new_key("operator")
    assert _status(api, headers) == (200, None)
    ApiKey.objects.update(revoked_at=timezone.now())  # as another process revokes it
    before = _status(api, headers)

    later = monotonic() + conf().api_key_cache_ms / 1000
    monkeypatch.setattr(api_keys, "monotonic", lambda: later)

    assert before == (200, None)
    assert _status(api, headers) == (401, "key_revoked")


def test_time_of_the_cache_is_at_most_five_seconds() -> None:
    assert Conf().api_key_cache_ms <= 5000


def test_key_revoked_here_stops_at_once(api: Client, new_key: Keys) -> None:
    headers = new_key("operator")
    assert _status(api, headers) == (200, None)

    assert api_keys.revoke(ApiKey.objects.get().prefix)

    assert _status(api, headers) == (401, "key_revoked")


def test_expired_key_is_refused(api: Client, new_key: Keys) -> None:
    headers = new_key("operator", expires_at=timezone.now() - timedelta(seconds=1))

    assert _status(api, headers) == (401, "token_expired")


def test_key_that_expires_while_cached_is_refused(
    api: Client, new_key: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = new_key("operator", expires_at=timezone.now() + timedelta(hours=1))
    assert _status(api, headers) == (200, None)

    class Later:
        @staticmethod
        def now() -> Any:
            return timezone.now() + timedelta(hours=1)

    monkeypatch.setattr(access, "timezone", Later)

    assert _status(api, headers) == (401, "token_expired")


def test_metrics_may_be_public(api: Client, with_keys: None, settings: Any) -> None:
    settings.OJS = {**settings.OJS, "METRICS_PUBLIC": True}

    assert api.get("/metrics").status_code == 200
    assert api.get("/ojs/v1/metrics").status_code == 401


def test_paths_of_the_matrix_are_real() -> None:
    assert {part for item in GUARDED for part in str(item.values[1]).split("/") if "{" in part} == {
        "{job_id}", *(f"{{{name}}}" for name in PATHS),
    }  # fmt: skip
