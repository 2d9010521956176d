"""Read and change the notes of runbooks; audited and in the history."""

from collections.abc import Iterable

from django.db.models import Q
from django.db.models.functions import Now

from attention.domain.runbook import MOST_NOTES, About, Place, parse_place, parse_text
from attention.models import Note
from attention.rules import BY_ID
from attention.services.documents import BETWEEN, NOTE
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict, InvalidRequest, NotFound
from jobs.extensions import Document
from jobs.services.audit.config_log import Subject, configured


def page(*, limit: int, offset: int) -> tuple[list[Note], int]:
    """List notes by object; returns a page and the total."""
    found = Note.objects.order_by("about", "name")
    return list(found[offset : offset + limit]), found.count()


def of(places: Iterable[Place]) -> list[Note]:
    """Return the notes of objects, in the order of the objects; one statement."""
    listed = list(places)
    wanted = Q(pk__in=[])
    for one in listed:
        wanted |= Q(about=one.about, name=one.name)
    found = {(row.about, row.name): row for row in Note.objects.filter(wanted)}
    return [found[key] for one in listed if (key := (str(one.about), one.name)) in found]


def find(place: Place) -> Note:
    """Return a note. Raises NotFound."""
    found = Note.objects.filter(about=place.about, name=place.name).first()
    if found is None:
        raise NotFound.of("note", f"{place.about} {place.name}")
    return found


def write(place: Place, raw: object, caller: Caller) -> tuple[Note, bool]:
    """Store the Markdown of a note; returns the note and whether it is new.

    Raises InvalidRequest, and Conflict for a new note beyond the bound.
    """
    text = parse_text(raw)
    if place.about is About.ALERT and place.name not in BY_ID:
        raise InvalidRequest.field("subject", "is not the id of a rule", place.name)
    with configured(caller, _subject(place), "note.written", target=_target(place)):
        is_new = not Note.objects.filter(about=place.about, name=place.name).exists()
        if is_new and Note.objects.count() >= MOST_NOTES:
            raise Conflict(f"there are {MOST_NOTES} notes already: delete one first")
        changed = {"text": text, "updated_at": Now(), "updated_by": caller.name}
        if is_new:
            Note.objects.create(about=place.about, name=place.name, **changed)
        else:
            Note.objects.filter(about=place.about, name=place.name).update(**changed)
    return find(place), is_new


def delete(place: Place, caller: Caller) -> None:
    """Delete a note. Raises NotFound."""
    with configured(caller, _subject(place), "note.deleted", target=_target(place)):
        gone, _ = Note.objects.filter(about=place.about, name=place.name).delete()
        if not gone:
            raise NotFound.of("note", f"{place.about} {place.name}")


def restore(name: str, _: str | None, document: Document | None, caller: Caller) -> None:
    """Restore a note; None: delete it."""
    about, _, subject = name.partition(BETWEEN)
    place = parse_place(about, subject)
    if document is None:
        delete(place, caller)
    else:
        write(place, document["text"], caller)


def _subject(place: Place) -> Subject:
    return Subject(NOTE, f"{place.about}{BETWEEN}{place.name}")


def _target(place: Place) -> str:
    return f"{place.about} {place.name}"
