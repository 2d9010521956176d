"""What the tests of refusals share: every operation, one valid request each, the error shape."""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import orjson
import pytest
from hypothesis import HealthCheck, settings

from jobs.api.docs import document
from jobs.api.media import OJS_TYPE

DOCUMENT: dict[str, Any] = orjson.loads(document())
JOB_ID = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"  # of no job
JOB = {"type": "mail.send", "args": []}
# One valid request per operation with a body
BODIES: dict[str, dict[str, Any]] = {
    "createJob": JOB,
    "createJobs": {"jobs": [JOB]},
    "activateJob": {},
    "reportProgress": {"progress": 0.5},
    "reportPercentage": {"job_id": JOB_ID, "percentage": 50},
    "fetchJobs": {"queues": ["default"]},
    "ackJob": {"job_id": JOB_ID},
    "ackJobs": {"acks": [{"job_id": JOB_ID}]},
    "nackJob": {"job_id": JOB_ID, "error": {"code": "x"}},
    "nackJobs": {"nacks": [{"job_id": JOB_ID, "error": {"code": "x"}}]},
    "heartbeat": {"worker_id": "w1"},
    "beat": {"worker_id": "w1"},
    "pauseQueue": {},
    "resumeQueue": {},
    "retryDeadLetterJob": {"override": {}},
    "directWorker": {},
}
PATHS = {"name": "mail", "worker_id": "w1", "verb": "quiet"}
OPERATIONS = [
    pytest.param(method.upper(), path, built, id=built["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, built in methods.items()
]
WITH_BODY = [item for item in OPERATIONS if item.id in BODIES]
EXAMPLES = settings(
    max_examples=60,
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
    """Check status and shape; returns the error."""
    assert answer.status_code in (statuses or range(400, 500)), answer.content[:500]
    assert answer["Content-Type"] == OJS_TYPE
    assert answer["OJS-Version"] == "1.0"
    found: dict[str, Any] = answer.json()
    ERROR.validate(found)
    assert found["error"]["request_id"] == answer["X-Request-Id"]
    error: dict[str, Any] = found["error"]
    return error
