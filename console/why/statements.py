"""The causes of a page as shown: findings in place of equal causes, buttons by permission."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from django.apps import apps
from django.http import HttpRequest

from attention.domain.rule import Subject
from console.access import may
from console.attention import BUTTONS, Button, buttons, items
from console.callers import tenant_of
from console.why.causes import READ_HERE, Cause, distinct

if TYPE_CHECKING:  # the app may be absent
    from console.attention import Item

MOST: Final = 6  # causes on a page


@dataclass(frozen=True, slots=True)
class Statement:
    """A cause on a page; `url` is the page of its finding, empty without a finding."""

    text: str
    detail: str
    since: datetime | None
    until: datetime | None
    url: str
    about: str  # the subject of the buttons
    buttons: tuple[Button, ...]


def statements(
    request: HttpRequest, causes: Iterable[Cause], kind: Subject | None = None, name: str = ""
) -> list[Statement]:
    """Return what a page says about its subject; empty when all is well.

    One statement more than the causes took, for the findings about the subject.
    """
    found = {one.shown.rule.id: one for one in _findings(request, kind, name)}
    shown = []
    for cause in distinct(causes):
        item = found.pop(cause.rule, None)
        shown.append(_of_finding(request, item) if item else _of_cause(request, cause))
    rest = [one for rule, one in found.items() if rule not in READ_HERE]
    return [*shown, *(_of_finding(request, one) for one in rest)][:MOST]


def _findings(request: HttpRequest, kind: Subject | None, name: str) -> "list[Item]":
    if kind is None or not apps.is_installed("attention") or not may(request, "attention.see"):
        return []
    tenant = tenant_of(request)
    about = import_module("attention.services.listing").about
    return items(request, about(kind, name, tenant), tenant)


def _of_finding(request: HttpRequest, item: "Item") -> Statement:
    shown = item.shown
    return Statement(
        shown.text, shown.cause, shown.since, None, item.url, shown.hit.subject,
        _elsewhere(request, item.buttons)[:BUTTONS],
    )  # fmt: skip


def _of_cause(request: HttpRequest, cause: Cause) -> Statement:
    return Statement(
        cause.text, cause.detail, cause.since, cause.until, "", cause.about,
        _elsewhere(request, buttons(request, cause.remedies)),
    )  # fmt: skip


def _elsewhere(request: HttpRequest, found: tuple[Button, ...]) -> tuple[Button, ...]:
    """Leave out links to the page itself."""
    return tuple(one for one in found if unquote(one.url) != request.path)
