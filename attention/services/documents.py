"""The kinds of configuration of runbooks, and their documents for the history."""

from typing import Final

from attention.models import Note, ProcedureRow
from jobs.extensions import ConfigKind, Document

BETWEEN: Final = ":"  # the kind of the object and its name, in the name of a note


def _note(name: str, _: str | None) -> Document | None:
    about, _, subject = name.partition(BETWEEN)
    return Note.objects.filter(about=about, name=subject).values("text").first()


def _procedure(name: str, _: str | None) -> Document | None:
    row = ProcedureRow.objects.filter(name=name).first()
    if row is None:
        return None
    return {
        "about": row.about, "subject": row.subject, "action": row.verb, "filter": row.wanted,
        "rate": row.rate, "reason": row.reason, "description": row.description,
    }  # fmt: skip


NOTE: Final = ConfigKind(
    "note", "Note", ("ojs_attention_note",), _note, "attention.services.notes.restore",
    see="runbooks.see", change="runbooks.write",
)  # fmt: skip
PROCEDURE: Final = ConfigKind(
    "procedure", "Procedure", ("ojs_attention_procedure",), _procedure,
    "attention.services.procedures.restore", see="runbooks.see", change="runbooks.configure",
)  # fmt: skip
KINDS: Final = (NOTE, PROCEDURE)
