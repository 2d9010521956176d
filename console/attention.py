"""Findings for pages: their remedies as links and buttons that the user may use."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from django.apps import apps
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from console.access import may
from console.pages import BY_NAME
from jobs.api.wire.media import SERVED
from jobs.domain.record.events import NAMES as EVENTS
from jobs.domain.record.events import matches

if TYPE_CHECKING:  # the app may be absent
    from attention.domain.rule import Remedy
    from attention.services.words import Shown

OF_OVERVIEW: Final = 6  # findings on the overview
BUTTONS: Final = 3  # remedies of a finding in a list
CHANGES: Final = "attention.*"
NAMES: Final = tuple(sorted(name for name in EVENTS.values() if matches(name, (CHANGES,))))


@dataclass(frozen=True, slots=True)
class Button:
    """A remedy: a link (`url`), or an action with its target."""

    label: str
    url: str = ""
    action: str = ""
    target: str = ""
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A finding and what the user may do about it; `url` is empty for one that is not stored."""

    shown: "Shown"
    url: str
    buttons: tuple[Button, ...]
    has_runbook: bool = False  # a note or a procedure of its rule

    @property
    def first_buttons(self) -> tuple[Button, ...]:
        """Return the remedies that a list has room for."""
        return self.buttons[:BUTTONS]


@dataclass(frozen=True, slots=True)
class Wake:
    """The stream of events after which a part of a page is shown anew, and their names."""

    url: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The worst findings for the overview, and the number of all."""

    items: list[Item]
    total: int
    wake: Wake | None


def overview(request: HttpRequest, tenant: str | None) -> Summary | None:
    """Return the summary of the open findings; None: the app is absent, or the user may not see."""
    if not apps.is_installed("attention") or not may(request, "attention.see"):
        return None
    found = import_module("attention.services.listing").listed(tenant)
    return Summary(items(request, found[:OF_OVERVIEW], tenant), len(found), wake(request))


def wake(request: HttpRequest) -> Wake | None:
    """Return the stream of the changes of findings; None if nothing serves it to this user."""
    if not request.META.get(SERVED) or not may(request, "jobs.see"):
        return None
    return Wake(f"{reverse('ojs-events-stream')}?{urlencode({'types': CHANGES})}", NAMES)


def items(request: HttpRequest, found: Iterable["Shown"], tenant: str | None) -> list[Item]:
    """Add the remedies to findings. Restricted users get no remedy for the whole server."""
    may_read = may(request, "runbooks.see")
    return [
        Item(
            one,
            reverse("ojs_console:finding", args=[one.id]) if one.id else "",
            () if tenant and one.hit.tenant != tenant else buttons(request, one.remedies),
            may_read and one.has_runbook,
        )
        for one in found
    ]


def buttons(request: HttpRequest, remedies: Iterable["Remedy"]) -> tuple[Button, ...]:
    """Return the remedies that the user may use."""
    return tuple(_buttons(request, remedies))


def _buttons(request: HttpRequest, remedies: Iterable["Remedy"]) -> Iterator[Button]:
    for remedy in remedies:
        if found := _action(request, remedy) if remedy.action else _link(request, remedy):
            yield found


def _action(request: HttpRequest, remedy: "Remedy") -> Button | None:
    actions = import_module("console.actions.table").ACTIONS
    action = actions.get(remedy.action)
    if action is None or not may(request, action.permit):
        return None
    return Button(
        remedy.label, action=remedy.action, target=remedy.target, revision=remedy.revision
    )


def _link(request: HttpRequest, remedy: "Remedy") -> Button | None:
    place = BY_NAME[remedy.page]
    if not may(request, place.read):
        return None
    try:
        url = reverse(f"ojs_console:{remedy.page}", args=remedy.args)
    except NoReverseMatch:  # the app of the page is absent
        return None
    query = f"?{urlencode(remedy.query)}" if remedy.query else ""
    return Button(remedy.label, f"{url}{query}{f'#{remedy.anchor}' if remedy.anchor else ''}")
