"""Example requests of checkpoints and signals; see `jobs/api/examples.py`."""

from collections.abc import Mapping
from typing import Final

from jobs.api.examples import ACTIVE, WORKER, Example

JOB: Final = {"job_id": ACTIVE}
STATE: Final = Example({"state": {"page": 5}, "worker_id": WORKER}, path=JOB)
EXAMPLES: Final[Mapping[str, Example]] = {
    "getCheckpoint": Example(path=JOB),
    "saveCheckpoint": STATE,
    "saveCheckpointByPost": STATE,
    "deleteCheckpoint": Example(path=JOB),
    "listSignals": Example(path=JOB),
    "sendSignal": Example({"payload": {"by": "ada"}}, path={**JOB, "name": "approved"}),
    "adminRetryFromStep": Example({"step": "label"}, path=JOB),
    "suspendJob": Example({"step": "approval", "signals": ["approved"]}, path=JOB),
}
