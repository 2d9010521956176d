"""Example requests of the operations, by operation id. A test sends each to a server.

The API description shows them as request bodies, parameters and curl commands. An app of operations
has such a module; `jobs/api/document.py` finds it by the module of the view.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

# jobs in the state of their name
AVAILABLE: Final = "01a21650-0000-7000-8000-000000000001"
ACTIVE: Final = "01a21650-0000-7000-8000-000000000002"
DISCARDED: Final = "01a21650-0000-7000-8000-000000000003"
COMPLETED: Final = "01a21650-0000-7000-8000-000000000004"
PENDING: Final = "01a21650-0000-7000-8000-000000000005"
WORKER: Final = "worker-1"
FAILURE: Final = {"type": "SmtpTimeout", "message": "the relay did not answer", "retryable": True}
CONFIRMED: Final = {"filter": {"queue": "mail"}, "confirm": True}
CONFIGURATION: Final = {"concurrency": 20, "rate_limit": {"limit": 100, "period": "PT1M"}}
OVERRIDE: Final = {"limit": 50, "period": "PT1M", "expires_at": "2099-01-01T00:00:00Z"}
JOB: Final = {
    "type": "mail.send", "args": ["ada@example.org", "Welcome"], "options": {"queue": "mail"},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """The values of a request; parameters of the path default to PATH."""

    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=dict)


PATH: Final[Mapping[str, str]] = {
    "job_id": AVAILABLE, "name": "mail", "worker_id": WORKER, "key": "stripe", "verb": "quiet",
}  # fmt: skip
ON_ACTIVE: Final = {"job_id": ACTIVE}
ON_DEAD: Final = {"job_id": DISCARDED}
_DEAD_LETTER: Final[Mapping[str, Example]] = {
    "ListDeadLetter": Example(query={"queue": "mail"}),
    "EmptyDeadLetter": Example({"confirm": True}, query={"queue": "mail"}),
    "PurgeDeadLetter": Example(query={"older_than": "30d"}),
    "RetryDeadLetter": Example({"confirm": True}, query={"queue": "mail"}),
    "GetDeadLetterJob": Example(path=ON_DEAD),
    "DeleteDeadLetterJob": Example(path=ON_DEAD),
    "RetryDeadLetterJob": Example({"override": {"queue": "mail"}}, path=ON_DEAD),
}
EXAMPLES: Final[Mapping[str, Example]] = {
    # jobs
    "createJob": Example(JOB),
    "createJobs": Example({"jobs": [JOB, {**JOB, "args": ["alan@example.org", "Welcome"]}]}),
    "listJobs": Example(query={"state": "available", "queue": "mail"}),
    "changeJob": Example({"priority": 10}),
    "activateJob": Example({}, path={"job_id": PENDING}),
    "getJobResult": Example(path={"job_id": COMPLETED}),
    "getJobRetries": Example(path=ON_DEAD),
    "getProgress": Example(path=ON_ACTIVE),
    "reportProgress": Example({"progress": 0.5, "message": "page 5 of 10"}, path=ON_ACTIVE),
    "streamProgress": Example(path=ON_ACTIVE),
    "reportPercentage": Example({"job_id": ACTIVE, "percentage": 50}),
    "bulkEnqueue": Example({"jobs": [JOB]}),
    "bulkCancel": Example(CONFIRMED),
    "bulkRetry": Example({"job_ids": [DISCARDED]}),
    "bulkDelete": Example({"job_ids": [DISCARDED]}),
    "listUniqueJobs": Example(query={"queue": "mail"}),
    "adminListJobs": Example(query={"state": "discarded", "type": "mail.*"}),
    "adminChangeJob": Example({"priority": 10}),
    "adminDeleteJob": Example(path={"job_id": COMPLETED}),
    "adminCancelJob": Example({"reason": "sent twice"}),
    "adminRetryJob": Example({"override": {"queue": "mail"}}, path=ON_DEAD),
    "adminBulkPreview": Example({"action": "cancel", "filter": {"queue": "mail"}}),
    "listConfigHistory": Example(query={"kind": "queue", "name": "mail", "since": "7d"}),
    "getConfigChange": Example(path={"change": "1"}),
    "restoreConfigVersion": Example(
        {"confirm": True, "expected": "44136fa355b3678a1146ad16f7e8649e", "reason": "a mistake"},
        path={"change": "1"},
    ),
    "adminGetOperation": Example(path={"number": "1"}),
    "adminUndoOperation": Example({"confirm": True, "reason": "a mistake"}, path={"number": "1"}),
    "adminBulkCancel": Example(CONFIRMED),
    "adminBulkRetry": Example({"job_ids": [DISCARDED], "confirm": True}),
    "adminBulkDelete": Example({"job_ids": [DISCARDED], "confirm": True}),
    # workers
    "registerWorker": Example({"worker_id": WORKER, "queues": ["mail"], "concurrency": 10}),
    "fetchJobs": Example({"worker_id": WORKER, "queues": ["mail"], "count": 10}),
    "ackJob": Example({"job_id": ACTIVE, "result": {"sent": True}}),
    "ackJobs": Example({"acks": [{"job_id": ACTIVE, "result": {"sent": True}}]}),
    "ackJobByPath": Example({"result": {"sent": True}}, path=ON_ACTIVE),
    "nackJob": Example({"job_id": ACTIVE, "error": FAILURE}),
    "nackJobs": Example({"nacks": [{"job_id": ACTIVE, "error": FAILURE}]}),
    "nackJobByPath": Example({"error": FAILURE}, path=ON_ACTIVE),
    "heartbeat": Example({"worker_id": WORKER, "active_jobs": [ACTIVE]}),
    "beat": Example({"worker_id": WORKER, "active_jobs": [ACTIVE]}),
    "directWorker": Example({"reason": "deployment"}),
    "directWorkers": Example({"directive": "quiet", "reason": "deployment"}),
    "adminDeleteWorker": Example(query={"force": "true"}),
    # queues
    "createQueue": Example({"name": "reports"}),
    "deleteQueue": Example({}, query={"strategy": "discard"}),
    "setQueueConfig": Example(CONFIGURATION),
    "configureQueue": Example(CONFIGURATION),
    "setQueueRateLimit": Example({"rate": {"limit": 100, "period": "PT1M"}}),
    "pauseQueue": Example({}),
    "resumeQueue": Example({}),
    "adminPauseQueue": Example({}),
    "adminResumeQueue": Example({}),
    "purgeQueue": Example({"states": ["available"], "confirm": True}),
    "purgeQueueJobs": Example({"states": ["completed"], "confirm": True}),
    "overrideRateLimit": Example(OVERRIDE),
    "setRateLimitOverride": Example(OVERRIDE),
    # dead letter
    **{f"{name[0].lower()}{name[1:]}": one for name, one in _DEAD_LETTER.items()},
    **{f"admin{name}": one for name, one in _DEAD_LETTER.items()},
    "setReplayRules": Example(
        {
            "rules": [
                {
                    "name": "smtp",
                    "filter": {"error_type": "SmtpTimeout"},
                    "delay": "PT5M",
                    "max_replays": 3,
                }
            ]
        }
    ),
    # events, administration
    "listEvents": Example(query={"types": "job.failed", "queue": "mail"}),
    "streamEvents": Example(query={"types": "job.*"}),
    "getStatsHistory": Example(query={"since": "1h", "period": "5m"}),
    "listAudit": Example(query={"action": "queue.paused"}),
    "setMaintenance": Example({"enabled": True, "reason": "database upgrade"}),
    "setMaintenanceShort": Example({"enabled": False}),
    "getMetricsSummary": Example(query={"format": "json"}),
}
