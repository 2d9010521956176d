"""The actions of operators on a schedule."""

from typing import Final

from django.http import QueryDict

from console import cron
from console.actions.action import Action, Run
from jobs.domain.access.caller import Caller


def _act(verb: str) -> Run:
    def run(form: QueryDict, who: Caller) -> str:
        return cron.act(verb, form.get("id", ""), who)

    return run


ACTIONS: Final = (
    Action(
        "cron-trigger", "schedules.operate", _act("trigger"), "Run now", audit="cron.trigger"
    ),
    Action("cron-pause", "schedules.operate", _act("pause"), "Pause", audit="cron.pause"),
    Action("cron-resume", "schedules.operate", _act("resume"), "Resume", audit="cron.resume"),
    Action(
        "cron-delete", "schedules.delete", _act("delete"), "Delete", "danger",
        "Delete this schedule? Its jobs stay.", audit="cron.delete",
    ),
)  # fmt: skip
