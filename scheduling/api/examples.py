"""Example requests of schedules and pools; see `jobs/api/examples.py`."""

from collections.abc import Mapping
from typing import Any, Final

from jobs.api.examples import Example

CRON: Final = {"name": "nightly-report"}
POOL: Final = {"name": "mailers"}
FAIRNESS: Final = {"enabled": True, "weights": {"acme": 4}, "default_weight": 1}
SCHEDULE: Final[dict[str, Any]] = {
    "name": "nightly-report", "expression": "0 3 * * *", "timezone": "Europe/Berlin",
    "overlap_policy": "skip",
    "job_template": {"type": "report.render", "args": ["daily"], "options": {"queue": "mail"}},
}  # fmt: skip
EXAMPLES: Final[Mapping[str, Example]] = {
    "registerCron": Example(SCHEDULE),
    "listCrons": Example(query={"enabled": "true"}),
    "getCron": Example(path=CRON),
    "changeCron": Example({"expression": "30 3 * * *"}, path=CRON),
    "deleteCron": Example(path=CRON),
    "getCronHistory": Example(path=CRON),
    "getCronUpcoming": Example(path=CRON, query={"limit": "5"}),
    "pauseCron": Example({}, path=CRON),
    "resumeCron": Example({}, path=CRON),
    "triggerCron": Example({}, path=CRON),
    "putPool": Example(
        {
            "queues": ["mail", "reports"],
            "strategy": "weighted",
            "weights": {"mail": 3},
            "concurrency": 40,
        },
        path=POOL,
    ),
    "getPool": Example(path=POOL),
    "deletePool": Example(path=POOL),
    "setSchedulingConfig": Example({"default_strategy": "strict", "tenant_fairness": FAIRNESS}),
    "getSchedulingStats": Example(query={"pool": "mailers"}),
}
