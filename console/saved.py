"""Saved views of the lists, for their owner or for all users."""

from typing import Any

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


def views(user: Any, page: str) -> list[SavedView]:
    """Return a user's own views of a page, and the shared views."""
    found = SavedView.objects.filter(Q(owner=user) | Q(is_shared=True), page=page)
    return list(found.select_related("owner").order_by("name", "pk")[: 2 * MOST])


def save(form: QueryDict, who: Caller) -> SavedView:
    """Save the view of a page under a name, replacing its former view. Raises InvalidRequest."""
    page, name = form.get("page", ""), form.get("name", "").replace("\x00", "").strip()
    if page not in PAGES:
        raise InvalidRequest.field("page", f"must be one of {', '.join(PAGES)}", page[:50])
    if not name or len(name) > LONGEST:
        raise InvalidRequest.field("name", f"must have 1 to {LONGEST} characters", name[:LONGEST])
    owner = _user(who)
    mine = SavedView.objects.filter(owner=owner, page=page)
    if mine.exclude(name=name).count() >= MOST:
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
    shown = columns.query(columns.chosen(given.getlist("columns")))
    kept = QueryDict(mutable=True)
    kept.update(JobFilter.read(given).chosen() | shown)
    return kept.urlencode()
