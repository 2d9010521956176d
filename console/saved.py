"""Saved views of the lists, for their owner or for all users, and the columns of a user."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth import get_user_model
from django.db.models import Q
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from console import columns
from console.callers import PREFIX
from console.filters import JobFilter
from console.models import SavedView
from jobs.database import atomic_with_users
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.services.audit.audit import record

PAGES = ("jobs", "dead_letter")
LONGEST, MOST = 60, 50  # characters of a name, views of an owner on a page
UNNAMED = ""  # the view with the columns that its owner has set


@dataclass(frozen=True, slots=True)
class Saved:
    """The own and shared views of a page, and the names of the user's columns."""

    views: list[SavedView]
    columns: tuple[str, ...]


def read(user: Any, page: str) -> Saved:
    """Return the columns and views of a user for a page, and the shared views of others."""
    found = SavedView.objects.filter(Q(owner=user) | Q(is_shared=True), page=page)
    views = list(found.select_related("owner").order_by("name", "pk")[: 2 * MOST])
    named = [view for view in views if view.name != UNNAMED]
    own = [QueryDict(view.query).getlist("columns") for view in views if view.name == UNNAMED]
    return Saved(named, tuple(one.name for one in columns.chosen(own[0] if own else ())))


def set_columns(given: Sequence[str], who: Caller) -> dict[str, str]:
    """Make these the columns of a user's list of jobs; return the parameters of its link.

    Without a known name they are again those of all users.
    """
    parameters = columns.query(columns.chosen(given))
    unnamed = {"owner": _user(who), "page": "jobs", "name": UNNAMED}
    if parameters:
        SavedView.objects.update_or_create(**unnamed, defaults={"query": urlencode(parameters)})
    else:
        SavedView.objects.filter(**unnamed).delete()
    return parameters


def save(form: QueryDict, who: Caller) -> SavedView:
    """Save the view of a page under a name, replacing its former view. Raises InvalidRequest."""
    page, name = form.get("page", ""), form.get("name", "").replace("\x00", "").strip()
    if page not in PAGES:
        raise InvalidRequest.field("page", f"must be one of {', '.join(PAGES)}", page[:50])
    if not name or len(name) > LONGEST:
        raise InvalidRequest.field("name", f"must have 1 to {LONGEST} characters", name[:LONGEST])
    owner = _user(who)
    mine = SavedView.objects.filter(owner=owner, page=page)
    if mine.exclude(name__in=(name, UNNAMED)).count() >= MOST:
        raise InvalidRequest.field("name", f"would exceed the limit of {MOST} saved views")
    with atomic_with_users():
        view, _ = SavedView.objects.update_or_create(
            owner=owner, page=page, name=name,
            defaults={
                "query": _query(form.get("query", "")), "is_shared": form.get("is_shared") == "1",
            },
        )  # fmt: skip
        record(who, "view.saved", name, data={"page": page, "shared": view.is_shared})
    return view


def delete(view_id: str, who: Caller) -> str:
    """Delete one of a user's own views; return its name. Raises NotFound."""
    is_id = view_id.isascii() and view_id.isdecimal() and len(view_id) < 19  # noqa: PLR2004
    view = SavedView.objects.filter(pk=int(view_id), owner=_user(who)).first() if is_id else None
    if view is None:
        raise NotFound.of("view", view_id[:20])
    with atomic_with_users():
        view.delete()
        record(who, "view.deleted", view.name, data={"page": view.page})
    return view.name


def _user(who: Caller) -> Any:
    return get_user_model()._default_manager.get_by_natural_key(who.name.removeprefix(PREFIX))


def _query(text: str) -> str:
    """Return a query string with a filter and columns only."""
    given: MultiValueDict[str, str] = QueryDict(text[:5000])
    kept = QueryDict(mutable=True)
    kept.update(JobFilter.read(given).chosen())
    if "columns" in given:  # named, though they are usual: the reader may have set others
        shown = columns.chosen(given.getlist("columns"))
        kept["columns"] = ",".join(column.name for column in shown)
    return kept.urlencode()
