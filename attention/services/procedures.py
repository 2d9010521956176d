"""Read and change saved procedures; audited and in the history."""

from collections.abc import Iterable

from django.db.models import Q
from django.db.models.functions import Now

from attention.domain.runbook import MOST_PROCEDURES, About, Place, Procedure, parse_procedure
from attention.models import ProcedureRow
from attention.rules import BY_ID
from attention.services.documents import PROCEDURE
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict, InvalidRequest, NotFound
from jobs.domain.outcome.bulk import Verb
from jobs.extensions import Document
from jobs.services.audit.config_log import Subject, configured


def page(*, limit: int, offset: int) -> tuple[list[Procedure], int]:
    """List procedures by name; returns a page and the total."""
    found = ProcedureRow.objects.order_by("name")
    return [_read(row) for row in found[offset : offset + limit]], found.count()


def of(places: Iterable[Place]) -> list[Procedure]:
    """Return the procedures of objects, by name; one statement."""
    wanted = Q(pk__in=[])
    for one in places:
        wanted |= Q(about=one.about, subject=one.name)
    return [_read(row) for row in ProcedureRow.objects.filter(wanted).order_by("name")]


def find(name: str) -> Procedure:
    """Return a procedure. Raises NotFound."""
    found = ProcedureRow.objects.filter(name=name).first()
    if found is None:
        raise NotFound.of("procedure", name[:100])
    return _read(found)


def put(wanted: Procedure, caller: Caller) -> tuple[Procedure, bool]:
    """Store a procedure, or replace the one of its name; returns it and whether it is new.

    Raises InvalidRequest for an unknown rule, and Conflict for a new one beyond the bound.
    """
    place = wanted.place
    if place.about is About.ALERT and place.name not in BY_ID:
        raise InvalidRequest.field("subject", "is not the id of a rule", place.name)
    with configured(caller, Subject(PROCEDURE, wanted.name), "procedure.saved"):
        is_new = not ProcedureRow.objects.filter(name=wanted.name).exists()
        if is_new and ProcedureRow.objects.count() >= MOST_PROCEDURES:
            raise Conflict(f"there are {MOST_PROCEDURES} procedures already: delete one first")
        ProcedureRow.objects.update_or_create(
            name=wanted.name,
            defaults={
                "about": place.about, "subject": place.name, "verb": wanted.verb,
                "wanted": dict(wanted.wanted), "rate": wanted.rate, "reason": wanted.reason,
                "description": wanted.description, "updated_at": Now(),
                "updated_by": caller.name,
            },
        )  # fmt: skip
    return find(wanted.name), is_new


def delete(name: str, caller: Caller) -> None:
    """Delete a procedure. Raises NotFound."""
    with configured(caller, Subject(PROCEDURE, name), "procedure.deleted"):
        if not ProcedureRow.objects.filter(name=name).delete()[0]:
            raise NotFound.of("procedure", name[:100])


def restore(name: str, _: str | None, document: Document | None, caller: Caller) -> None:
    """Restore a procedure; None: delete it."""
    if document is None:
        delete(name, caller)
    else:
        put(parse_procedure(name, document), caller)


def _read(row: ProcedureRow) -> Procedure:
    return Procedure(
        row.name, Place(About(row.about), row.subject), Verb(row.verb), row.wanted, row.rate,
        row.reason, row.description,
    )  # fmt: skip
