"""The history of the configuration for pages: kinds that a user may see, links, differences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from console.access import may
from jobs.domain.record.differences import Difference, differences
from jobs.extensions import ConfigKind
from jobs.models import ConfigChange, Undo
from jobs.services.audit.config_log import of_undo
from jobs.services.operate.history import kinds

SHOWN: Final = 3  # differences in a row of the list
# the route of an object's page by its kind, and the name of the argument; "": the page has none
PLACES: Final[Mapping[str, tuple[str, str]]] = {
    "queue": ("queue", "name"),
    "rate_limit_override": ("limits", ""),
    "replay_rules": ("dead_letter", ""),
    "pool": ("pool", "name"),
    "scheduling": ("pools", ""),
    "tenant": ("tenant", "tenant_id"),
    "routing": ("versions_of_type", "job_type"),
    "finding_rule": ("attention_rule", "rule_id"),
    "webhook": ("webhooks", ""),
    "region": ("regions", ""),
    "federation": ("regions", ""),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A change in the list: its kind, and its first differences."""

    change: ConfigChange
    kind: ConfigKind
    differences: list[Difference]

    @property
    def first(self) -> list[Difference]:
        """Return the differences that a row has room for."""
        return self.differences[:SHOWN]

    @property
    def more(self) -> int:
        """Return the number of the other differences."""
        return max(0, len(self.differences) - SHOWN)


def visible(request: HttpRequest) -> dict[str, ConfigKind]:
    """Return the kinds whose history the user may see, by name."""
    return {name: kind for name, kind in kinds().items() if may(request, kind.see)}


def row(change: ConfigChange) -> Row:
    """Return a change for the list."""
    return Row(change, kinds()[change.kind], differences(change.before, change.after))


def link(kind: str, name: str, tenant: str | None = None) -> str:
    """Return the address of the history of an object."""
    given = {"kind": kind, "name": name, "tenant": tenant or ""}
    given = {key: value for key, value in given.items() if value}
    return f"{reverse('ojs_console:history')}?{urlencode(given)}"


def place(kind: str, name: str) -> str:
    """Return the address of the page of an object, empty without one."""
    route, argument = PLACES.get(kind, ("", ""))
    if kind == "schema":
        route, argument, name = "schema", "job_type", name.rpartition("@")[0]
    if not route:
        return ""
    try:
        return reverse(f"ojs_console:{route}", kwargs={argument: name} if argument else {})
    except NoReverseMatch:
        return ""


def change_of(row: Undo) -> int | None:
    """Return the number of the change that an entry of the undo log takes back; None: jobs."""
    return of_undo(row.before)


def text_of(value: Any) -> str:
    """Write a value of a document as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text_of(one)}" for name, one in value.items()) or "empty"
    if isinstance(value, list):
        mark = "; " if any(isinstance(one, Mapping) for one in value) else ", "
        return mark.join(text_of(one) for one in value) or "empty"
    return "not set" if value is None or value == "" else str(value)
