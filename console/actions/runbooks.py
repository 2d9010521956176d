"""The actions of operators on runbooks."""

from typing import Final

from django.http import QueryDict

from attention.domain.runbook import parse_place
from attention.services import notes, procedures
from console.actions.action import Action
from jobs.domain.access.caller import Caller


def _delete_note(form: QueryDict, who: Caller) -> str:
    about, _, name = form.get("id", "").partition(":")
    place = parse_place(about, name)
    notes.delete(place, who)
    return f"The note of {place.about} {place.name} is deleted."


def _delete_procedure(form: QueryDict, who: Caller) -> str:
    name = form.get("id", "")
    procedures.delete(name, who)
    return f"Procedure {name} is deleted."


ACTIONS: Final = (
    Action("note-delete", "runbooks.write", _delete_note, "Delete note", "danger"),
    Action(
        "procedure-delete", "runbooks.configure", _delete_procedure, "Delete procedure", "danger"
    ),
)
