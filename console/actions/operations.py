"""The undo of an operation by its button."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action
from jobs.domain.access.caller import Caller
from jobs.domain.errors import NotFound
from jobs.services.operate import undo

DIGITS: Final = 18  # of an id


def _undo(form: QueryDict, who: Caller) -> str:
    raw = form.get("id", "")
    if not raw.isdecimal() or len(raw) > DIGITS:
        raise NotFound.of("operation", raw)
    row = undo.undo(int(raw), who, who.reason)
    if row.state == "undoing":
        return f"The undo goes on: {row.restored} of {row.jobs} jobs are restored so far."
    jobs = "1 job is" if row.restored == 1 else f"{row.restored} jobs are"
    left = f" {row.left_out} could not be restored: see Operations." if row.left_out else ""
    return f"{jobs} restored.{left}"


ACTIONS: Final = (
    Action(
        "undo", "undo.run", _undo, "Undo",
        ask="Undo this operation? Jobs that have run or changed since stay as they are.",
    ),
)  # fmt: skip
