"""The actions of operators on saved views."""

from typing import Final

from django.http import QueryDict

from console import saved
from console.actions.action import Action
from jobs.domain.access.caller import Caller


def _save(form: QueryDict, who: Caller) -> str:
    view = saved.save(form, who)
    return f"“{view.name}” is saved{' and shared with all users' if view.is_shared else ''}."


def _delete(form: QueryDict, who: Caller) -> str:
    return f"“{saved.delete(form.get('id', ''), who)}” is deleted."


ACTIONS: Final = (
    Action("view-save", "views.save", _save),
    Action("view-delete", "views.delete", _delete),
)  # fmt: skip
