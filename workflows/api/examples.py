"""Example requests of workflows; see `jobs/api/examples.py`."""

from collections.abc import Mapping
from typing import Any, Final

from jobs.api.examples import Example

WORKFLOW: Final = {"workflow_id": "01a21650-0000-7000-8000-0000000000f1"}
MAIL: Final[dict[str, Any]] = {"type": "mail.send", "args": ["ada@example.org", "Invoice"]}
EXAMPLES: Final[Mapping[str, Example]] = {
    "createWorkflow": Example(
        {
            "type": "chain",
            "name": "close the month",
            "steps": [
                {"type": "report.render", "args": ["2026-11"]},
                {"type": "group", "jobs": [MAIL, MAIL]},
            ],
        }
    ),
    "listWorkflows": Example(query={"state": "running"}),
    "getWorkflow": Example(path=WORKFLOW),
    "getWorkflowProgress": Example(path=WORKFLOW),
    "cancelWorkflow": Example(path=WORKFLOW),
    "cancelWorkflowByPost": Example({}, path=WORKFLOW),
}
