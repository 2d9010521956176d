"""The runbook of a page: notes, and saved procedures as links to their preview."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from django.apps import apps
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from console.access import may
from console.markdown import rendered
from console.permits import of_verb

if TYPE_CHECKING:  # the app may be absent
    from attention.domain.runbook import Place, Procedure
    from attention.models import Note

KINDS: Final = {"cancel": "danger", "retry": "", "delete": "danger"}  # classes of buttons


@dataclass(frozen=True, slots=True)
class Entry:
    """A note as HTML; `about` and `name` of its object."""

    about: str
    name: str
    html: SafeString
    note: "Note"


@dataclass(frozen=True, slots=True)
class Step:
    """A procedure as a button; `url` is the preview for the object, empty without the permit."""

    procedure: "Procedure"
    url: str
    kind: str


@dataclass(frozen=True, slots=True)
class Runbook:
    """The notes and procedures of a page, and the objects that have no note yet."""

    entries: list[Entry]
    steps: list[Step]
    missing: list[tuple[str, str]]  # kind and name
    places: tuple[tuple[str, str], ...]

    @property
    def first(self) -> tuple[str, str]:
        """Return the object that a new procedure is proposed for."""
        return self.places[0]

    @property
    def labelled(self) -> bool:
        """Return whether buttons must name their object."""
        return len(self.places) > 1


def named(about: str, name: str) -> str:
    """Name the object of a note in a sentence; an alert by the title of its rule."""
    if about != "alert":
        return f"{about} {name}"
    rule = import_module("attention.rules").BY_ID.get(name)
    return f"rule “{rule.title if rule else name}”"


def of_page(request: HttpRequest, subject: str, *places: tuple[str, str]) -> Runbook | None:
    """Return the runbook of objects (kind and name); two statements.

    `subject` is the name that procedures of alerts are for. None: the app is absent, or the user
    may not see runbooks.
    """
    if not apps.is_installed("attention") or not may(request, "runbooks.see"):
        return None
    domain = import_module("attention.domain.runbook")
    found: list[Place] = [domain.Place(domain.About(about), name) for about, name in places]
    notes: Sequence[Note] = import_module("attention.services.notes").of(found)
    steps = import_module("attention.services.procedures").of(found)
    written = {(one.about, one.name) for one in notes}
    return Runbook(
        [Entry(one.about, one.name, rendered(one.text), one) for one in notes],
        [step(request, one, subject) for one in steps],
        [one for one in places if one not in written],
        places,
    )


def step(request: HttpRequest, procedure: "Procedure", subject: str) -> Step:
    """Return the button of a procedure for an object."""
    verb = procedure.verb.value
    url = ""
    if may(request, of_verb(verb).name):
        given = {"verb": verb, **procedure.filter_for(subject)}
        given |= {"rate": str(procedure.rate)} if procedure.rate else {}
        given |= {"reason": procedure.reason} if procedure.reason else {}
        url = f"{reverse('ojs_console:operation_new')}?{urlencode(given)}"
    return Step(procedure, url, KINDS[verb])
