"""Example requests of a federation; see `jobs/api/examples.py`."""

from collections.abc import Mapping
from typing import Any, Final

from jobs.api.examples import JOB, Example

EU: Final = {"region_id": "eu"}
FEDERATION_ID: Final = "01a21650-0000-7000-8000-0000000000e1"
AP: Final = {"id": "sa", "url": "https://sa.example.org"}
REVISION: Final[dict[str, Any]] = {
    "federation_id": "01a21650-0000-7000-8000-0000000000e3", "origin_region": "eu",
    "job_id": "01a21650-0000-7000-8000-0000000000e4", "tenant_id": "_default",
    "type": "mail.send", "queue": "mail", "state": "available", "priority": 0, "attempt": 0,
    "created_at": "2026-05-04T12:00:00Z", "enqueued_at": "2026-05-04T12:00:00Z",
    "completed_at": None, "revision": 1000,
}  # fmt: skip
CLAIM: Final[dict[str, Any]] = {
    "federation_id": FEDERATION_ID, "job_id": "01a21650-0000-7000-8000-0000000000e2",
    "tenant_id": "_default", "enqueued_at": "2026-05-04T12:00:00Z", "started": False,
}  # fmt: skip
EXAMPLES: Final[Mapping[str, Example]] = {
    "putFederationConfig": Example(
        {"topology": "active-active", "replication": {"enabled": True, "mode": "full"}}
    ),
    "createRegion": Example(AP),
    "getRegion": Example(path=EU),
    "putRegion": Example({"url": "https://eu.example.org"}, path=EU),
    "patchRegion": Example({"weight": 2}, path=EU),
    "deleteRegion": Example(path=EU),
    "probeRegion": Example({}, path=EU),
    "setRegionBreaker": Example({"state": "open"}, path=EU),
    "drainRegion": Example({}, path=EU),
    "undrainRegion": Example({}, path=EU),
    "adoptJobs": Example({"limit": 100, "force": True, "reason": "eu is lost"}, path=EU),
    "forgetRegionCopies": Example({"limit": 100, "reason": "sa is gone"}, path={"region_id": "sa"}),
    "getFederatedJob": Example(path={"federation_id": FEDERATION_ID}),
    "placeJob": Example(JOB),
    "placeJobs": Example({"jobs": [JOB]}),
    "routeJob": Example({"type": "mail.send", "meta": {}}),
    "replicateJobs": Example({"jobs": [REVISION]}),
    "giveUpJobs": Example({"region": "eu", "jobs": [CLAIM]}),
}
