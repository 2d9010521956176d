"""The actions of operators on routing rules by button, for the revision on the page."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action
from jobs.domain.access.caller import Caller
from versioning.domain.canary_request import percent_of, shares_of
from versioning.services import routing


def _type(form: QueryDict) -> str:
    return form.get("id", "").replace("\x00", "")


def _revision(form: QueryDict) -> int | None:
    raw = form.get("revision", "")
    return int(raw) if raw.isdecimal() and len(raw) < 19 else None  # noqa: PLR2004 - of a bigint


def _promote(form: QueryDict, who: Caller) -> str:
    row = routing.promote(_type(form), who, revision=_revision(form))
    shares = shares_of(row.rules)
    newest = max(shares, key=lambda one: one.version)
    return f"Version {newest.text} of {row.type} gets {percent_of(shares):g} % of the jobs."


def _pause(form: QueryDict, who: Caller) -> str:
    row = routing.pause(_type(form), who, is_paused=True, revision=_revision(form))
    return f"The plan of {row.type} is paused. The shares do not change."


def _resume(form: QueryDict, who: Caller) -> str:
    row = routing.pause(_type(form), who, is_paused=False, revision=_revision(form))
    return f"The plan of {row.type} is resumed. Its current step starts over."


def _roll_back(form: QueryDict, who: Caller) -> str:
    row = routing.roll_back(_type(form), who, revision=_revision(form))
    return f"All jobs of {row.type} go to version {row.rules[0]['version']}."


def _delete(form: QueryDict, who: Caller) -> str:
    routing.delete(_type(form), who, revision=_revision(form))
    return f"The rules of {_type(form)} are removed. Its jobs use the version they name."


ACTIONS: Final = (
    Action(
        "routing-promote", "routing.operate", _promote, "Promote", "primary",
        "Send all jobs to the newest version?",
    ),
    Action(
        "routing-pause", "routing.operate", _pause, "Pause",
        ask="Pause the plan? The shares do not change until you resume it.",
    ),
    Action(
        "routing-resume", "routing.operate", _resume, "Resume",
        ask="Resume the plan? Its current step starts over.",
    ),
    Action(
        "routing-rollback", "routing.operate", _roll_back, "Roll back", "danger",
        "Roll back? All jobs go to the next lower version.",
    ),
    Action(
        "routing-delete", "routing.delete", _delete, "Remove rules", "danger",
        "Remove the rules? Jobs then use the version they name.",
    ),
)  # fmt: skip
