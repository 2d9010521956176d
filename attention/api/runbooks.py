"""Endpoints below /ojs/v1/admin/attention: notes and saved procedures. docs/attention.md."""

from typing import Any, Final

from rest_framework.request import Request

from attention.domain.runbook import (
    FILTER,
    MOST_DESCRIPTION,
    MOST_NAME,
    MOST_TEXT,
    NAME,
    TEXTS,
    About,
    Procedure,
    parse_place,
    parse_procedure,
)
from attention.models import Note
from attention.services import notes, procedures
from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import (
    TIME,
    Schema,
    component,
    integer,
    matching,
    maybe,
    obj,
    optional,
    text,
)
from jobs.api.schemas.jobs import PRIORITY
from jobs.api.wire.admin import list_of, listed
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.domain.access.caller import MAX_REASON
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.outcome.bulk import LEAST_RATE, MOST_RATE, Verb
from jobs.domain.states import State
from jobs.domain.wire.times import format_time

EXTENSION: Final = "attention"
ABOUT: Schema = {"type": "string", "enum": [str(one) for one in About]}
SUBJECT: Schema = text(1, MOST_NAME)
OF_NOTE: Final = {"about": ABOUT, "subject": SUBJECT}
NOTE = component(
    "Note",
    obj({**OF_NOTE, "text": text(1), "updated_at": TIME, "updated_by": text()}),
)
PLACES: Schema = {name: text(1, MOST_NAME) for name in TEXTS}
WANTED = obj(
    {},
    optional({**PLACES, "state": {"enum": [state.value for state in State]}, "priority": PRIORITY}),
    additionalProperties=False,
)
PROCEDURE_NAME = matching(NAME)
OF_PROCEDURE: Schema = {
    "about": ABOUT,
    "subject": SUBJECT,
    "action": {"type": "string", "enum": [verb.value for verb in Verb]},
    "filter": {**WANTED, "description": "{subject} stands for the name of the object"},
}
MORE: Schema = {
    "rate": {**integer(LEAST_RATE, MOST_RATE), "description": "Jobs a second, at most"},
    "reason": text(0, MAX_REASON),
    "description": text(0, MOST_DESCRIPTION),
}
PROCEDURE = component(
    "Procedure",
    obj({"name": PROCEDURE_NAME, **OF_PROCEDURE, **{k: maybe(v) for k, v in MORE.items()}}),
)


class NoteCollection(OJSView):
    """All notes."""

    @operation("listNotes", {200: list_of(NOTE, "notes")}, query=NUMBERED, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """List the notes of queues, types and alerts."""
        window = admin_page(request)
        found, total = notes.page(limit=window.limit, offset=window.offset)
        return Answer(listed([_note(one) for one in found], total, window, "notes"))


class NoteDetail(OJSView):
    """The note of one object."""

    @operation("getNote", {200: NOTE}, path=OF_NOTE, refusals=(404,), extension=EXTENSION)
    def get(self, request: Request, about: str, subject: str) -> Answer:
        """Show a note. Its text is Markdown; HTML inside is text."""
        return Answer(_note(notes.find(_place(about, subject))))

    @operation(
        "putNote",
        {200: NOTE, 201: NOTE},
        path=OF_NOTE,
        body=obj({"text": text(1, MOST_TEXT)}, additionalProperties=False),
        refusals=(404, 409),
        extension=EXTENSION,
    )
    def put(self, request: Request, about: str, subject: str) -> Answer:
        """Write the note of an object."""
        body = self.body()
        for member in body:
            if member != "text":
                raise InvalidRequest.field(member[:100], "is not a member of a note")
        found, is_new = notes.write(_place(about, subject), body.get("text"), self.caller)
        return Answer(_note(found), status=201 if is_new else 200)

    @operation("deleteNote", {204: None}, path=OF_NOTE, refusals=(404,), extension=EXTENSION)
    def delete(self, request: Request, about: str, subject: str) -> Answer:
        """Delete a note; its history stays."""
        notes.delete(_place(about, subject), self.caller)
        return Answer(None, status=204)


class ProcedureCollection(OJSView):
    """All procedures."""

    @operation(
        "listProcedures",
        {200: list_of(PROCEDURE, "procedures")},
        query=NUMBERED,
        extension=EXTENSION,
    )
    def get(self, request: Request) -> Answer:
        """List the saved procedures by name."""
        window = admin_page(request)
        found, total = procedures.page(limit=window.limit, offset=window.offset)
        return Answer(listed([_procedure(one) for one in found], total, window, "procedures"))


class ProcedureDetail(OJSView):
    """One procedure."""

    @operation(
        "getProcedure",
        {200: PROCEDURE},
        path={"name": PROCEDURE_NAME},
        refusals=(404,),
        extension=EXTENSION,
    )
    def get(self, request: Request, name: str) -> Answer:
        """Show a procedure.

        To run it, send its filter to `POST /ojs/v1/admin/jobs/bulk/preview` and then to the bulk
        endpoint of its action.
        """
        return Answer(_procedure(procedures.find(name)))

    @operation(
        "putProcedure",
        {200: PROCEDURE, 201: PROCEDURE},
        path={"name": PROCEDURE_NAME},
        body=obj(
            OF_PROCEDURE,
            optional({"name": PROCEDURE_NAME, **MORE}),
            additionalProperties=False,
        ),
        refusals=(409,),
        extension=EXTENSION,
    )
    def put(self, request: Request, name: str) -> Answer:
        """Save a procedure: an operation on the jobs of a filter, for the page of an object."""
        body = self.body()
        if body.get("name") not in (None, name):
            raise InvalidRequest.field("name", "must be that of the path", body["name"])
        found, is_new = procedures.put(parse_procedure(name, body), self.caller)
        return Answer(_procedure(found), status=201 if is_new else 200)

    @operation(
        "deleteProcedure",
        {204: None},
        path={"name": PROCEDURE_NAME},
        refusals=(404,),
        extension=EXTENSION,
    )
    def delete(self, request: Request, name: str) -> Answer:
        """Delete a procedure; its history stays."""
        procedures.delete(name, self.caller)
        return Answer(None, status=204)


def _place(about: str, subject: str) -> Any:
    """Return the object of a path. Raises NotFound."""
    try:
        return parse_place(about, subject)
    except InvalidRequest:
        raise NotFound.of("note", f"{about[:20]} {subject[:100]}") from None


def _note(row: Note) -> dict[str, Any]:
    return {
        "about": row.about, "subject": row.name, "text": row.text,
        "updated_at": format_time(row.updated_at), "updated_by": row.updated_by,
    }  # fmt: skip


def _procedure(one: Procedure) -> dict[str, Any]:
    return {
        "name": one.name, "about": str(one.place.about), "subject": one.place.name,
        "action": str(one.verb), "filter": {k: one.wanted[k] for k in FILTER if k in one.wanted},
        "rate": one.rate, "reason": one.reason, "description": one.description,
    }  # fmt: skip
