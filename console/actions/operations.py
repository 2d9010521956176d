"""The undo of an operation by its button."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action
from jobs.domain.access.caller import Caller
from jobs.domain.errors import NotFound
from jobs.services.audit.config_log import of_undo
from jobs.services.operate import undo

DIGITS: Final = 18  # of an id


def _undo(form: QueryDict, who: Caller) -> str:
    row = undo.undo(_id(form), who, who.reason)
    if of_undo(row.before) is not None:
        return f"Undone: {row.action} of {row.target}."
    if row.state == "undoing":
        return f"The undo goes on: {row.restored} of {row.jobs} jobs are restored so far."
    jobs = "1 job is" if row.restored == 1 else f"{row.restored} jobs are"
    left = f" {row.left_out} could not be restored: see Operations." if row.left_out else ""
    return f"{jobs} restored.{left}"


def _id(form: QueryDict) -> int:
    raw = form.get("id", "")
    if not (raw.isascii() and raw.isdecimal()) or len(raw) > DIGITS:
        raise NotFound.of("operation", raw[:DIGITS])
    return int(raw)


def _permit(form: QueryDict) -> str | None:
    """Return the permit that the undo of a configuration needs, too."""
    return undo.permit_of(undo.get(_id(form), None))


ACTIONS: Final = (
    Action(
        "undo", "undo.run", _undo, "Undo",
        ask="Undo this operation? Jobs that have run or changed since stay as they are.",
        further=_permit,
    ),
)  # fmt: skip
