"""The form of a saved procedure, which parses as the API does."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django import forms

from attention.domain.runbook import FILTER, Procedure, parse_procedure
from console.api_form import ApiForm, TextField
from jobs.domain.errors import OJSError
from jobs.domain.states import State

ABOUTS: Final = {"queue": "Queue", "type": "Type", "alert": "Alert"}
VERBS: Final = {"retry": "Retry", "cancel": "Cancel", "delete": "Delete"}


def _chosen(options: Mapping[str, str], *, required: bool = True) -> forms.ChoiceField:
    empty = [] if required else [("", "any")]
    return forms.ChoiceField(choices=[*empty, *options.items()], required=required)


class ProcedureForm(ApiForm):
    """A procedure; the fields of the filter have the names of its members."""

    api_names: ClassVar[Mapping[str, str]] = {
        "name": "name", "about": "about", "subject": "subject", "action": "verb", "rate": "rate",
        "reason": "words", "description": "description",
        **{f"filter.{name}": name for name in FILTER}, "filter": "queue",
    }  # fmt: skip

    name = TextField()
    about = _chosen(ABOUTS)
    subject = TextField()
    verb = _chosen(VERBS)
    state = _chosen({one.value: one.value for one in State}, required=False)
    queue = TextField()
    type = TextField()
    tenant = TextField()
    error_type = TextField()
    priority = TextField()
    rate = TextField()
    words = TextField()  # the reason that the procedure proposes
    description = TextField()
    wanted: Procedure

    def clean(self) -> dict[str, Any]:
        """Parse the procedure."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return given
        rate = given["rate"].strip()
        body = {
            "about": given["about"], "subject": given["subject"].strip(), "action": given["verb"],
            "filter": {name: given[name].strip() or None for name in FILTER},
            "rate": int(rate) if rate.isascii() and rate.isdecimal() else rate or None,
            "reason": given["words"], "description": given["description"],
        }  # fmt: skip
        try:
            self.wanted = parse_procedure(given["name"].strip(), body)
        except OJSError as problem:
            self.refuse(problem)
        return given


def fields_of(procedure: Procedure) -> dict[str, Any]:
    """Return a procedure as initial values of the form."""
    return {
        "name": procedure.name, "about": procedure.place.about, "subject": procedure.place.name,
        "verb": procedure.verb, "rate": procedure.rate or "", "words": procedure.reason or "",
        "description": procedure.description or "",
        **{name: procedure.wanted.get(name, "") for name in FILTER},
    }  # fmt: skip
