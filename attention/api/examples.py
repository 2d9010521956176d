"""Example requests of findings and their rules; see `jobs/api/examples.py`."""

from collections.abc import Mapping
from typing import Final

from jobs.api.examples import Example

FINDING: Final = {"finding_id": "01a21650-0000-7000-8000-0000000000b1"}
NOTE: Final = {"about": "queue", "subject": "mail"}
PROCEDURE: Final = {"name": "retry-mail"}
EXAMPLES: Final[Mapping[str, Example]] = {
    "listFindings": Example(query={"state": "open"}),
    "getFinding": Example(path=FINDING),
    "muteFinding": Example({"reason": "known, ticket 4711", "duration": "2h"}, path=FINDING),
    "unmuteFinding": Example({}, path=FINDING),
    "getNote": Example(path=NOTE),
    "putNote": Example({"text": "Call the **mail** team, then retry.\n"}, path=NOTE),
    "deleteNote": Example(path=NOTE),
    "getProcedure": Example(path=PROCEDURE),
    "putProcedure": Example(
        {
            "about": "queue",
            "subject": "mail",
            "action": "retry",
            "filter": {"queue": "{subject}", "state": "discarded"},
            "rate": 500,
        },
        path=PROCEDURE,
    ),
    "deleteProcedure": Example(path=PROCEDURE),
    "putAttentionRule": Example({"enabled": True}, path={"rule_id": "queue_paused"}),
}
