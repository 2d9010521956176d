"""Shared parts of all admin pages: bounded lists by index, and actions by services."""

from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.functional import cached_property

from jobs.domain.access.caller import Caller
from jobs.domain.errors import OJSError
from jobs.permits import table

MANY = 10_000


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # generic only for type checkers
    """Counts at most MANY rows: an exact count would scan a table that grows."""

    @cached_property
    def count(self) -> int:
        """Return the number of rows on all pages."""
        listed = self.object_list
        return listed[:MANY].count() if isinstance(listed, QuerySet) else len(listed)


class Permitted(admin.ModelAdmin):  # type: ignore[type-arg]  # generic only for type checkers
    """Looks up the permits to add, change, delete and use each action.

    A verb without a permit is refused. Reading requires the permission to view the model.
    """

    def may(self, request: HttpRequest, verb: str) -> bool:
        """Return whether the user has the permit of a verb on this model."""
        permit = table().admin.get(f"{self.opts.label}:{verb}")
        return permit is not None and request.user.has_perms(permit.permissions)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Show the list under the name that operators know."""
        return super().changelist_view(request, {**self._plain(), **(extra_context or {})})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Show a row with the name of its list."""
        name = {"plain_name": plain["title"]} if (plain := self._plain()) else {}
        context = {**name, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def _plain(self) -> dict[str, str]:
        """Return title and explanation of the list; empty on a site that names no models."""
        find = getattr(self.admin_site, "plain", None)
        plain = find and find(self.opts.label)
        return {"title": plain.name, "subtitle": plain.explanation} if plain else {}

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the user may view the model."""
        return request.user.has_perm(f"{self.opts.app_label}.view_{self.opts.model_name}")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may add a row."""
        return self.may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the user may change a row."""
        return self.may(request, "change")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the user may delete a row."""
        return self.may(request, "delete")

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> dict[str, Any]:
        """Return the actions that the user has a permit for.

        Django names the location from release 6.1 on.
        """
        where = () if action_location is None else (action_location,)
        found: dict[str, Any] = super().get_actions(request, *where)
        return {name: one for name, one in found.items() if self.may(request, name)}


class ReadOnly(Permitted):
    """Shows rows and changes none; lists follow an index and are counted up to a limit."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    console_page = ""  # shows a row, by its key

    def get_view_on_site_url(self, obj: Model | None = None) -> str | None:
        """Redirect from a row to its page in the console, if there is one."""
        if obj is None or not self.console_page:
            return None
        return on_console(self.console_page, obj.pk)


class ById(ReadOnly):
    """Rows that are found by their id alone, newest first."""

    ordering = ("-id",)
    search_fields = ("id__exact",)
    search_help_text = "A whole id"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find a row by its id; other text finds none, where a search would scan."""
        wanted = search_term.strip().lower()
        if not wanted:
            return queryset, False
        found = queryset.filter(pk=wanted) if is_uuid(wanted) else queryset.none()
        return found, False


def is_uuid(text: str) -> bool:
    """Return whether text is a UUID."""
    try:
        forms.UUIDField().clean(text)
    except forms.ValidationError:
        return False
    return True


def on_console(name: str, *args: object) -> str | None:
    """Return the address of a page of the console; None: this project has none."""
    try:
        return reverse(f"ojs_console:{name}", args=args)
    except NoReverseMatch:
        return None


def each(
    request: HttpRequest, rows: Iterable[Any], work: Callable[[Any, Caller], object], done: str
) -> None:
    """Apply a service to each chosen row, and show the refusals."""
    who, count = caller_of(request), 0
    for row in rows:
        try:
            work(row, who)
            count += 1
        except OJSError as problem:
            messages.error(request, f"{row}: {problem}.")
    if count:
        messages.success(request, f"{count} {done}.")


def caller_of(request: HttpRequest) -> Caller:
    """Return the actor for the audit log."""
    who = f"admin:{request.user.get_username()}"
    return Caller(who, address=request.META.get("REMOTE_ADDR"))
