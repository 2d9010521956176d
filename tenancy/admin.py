"""Show and change tenants in Django admin; changes call the same services as the API."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin import BoundedPaginator, Permitted, ReadOnly, caller_of
from jobs.admin.base import on_console
from jobs.domain.errors import OJSError
from tenancy import models
from tenancy.domain.tenant import Standing
from tenancy.forms import LIMITS, MEMBERS, TenantForm
from tenancy.services import tenants

SHOWN = ("state", "source", "created_at", "updated_at")


@admin.register(models.Throttle)
class ThrottleAdmin(ReadOnly):
    """Throttles of noisy tenants."""

    list_display = ("tenant_id", "hold", "action", "factor", "had", "reasons", "since", "until")
    list_filter = ("hold", "action")
    ordering = ("tenant",)


@admin.register(models.Noise)
class NoiseAdmin(ReadOnly):
    """Noisy tenants and their signals."""

    list_display = ("tenant", "signals", "since", "seen_at")
    ordering = ("tenant",)


@admin.register(models.Survey)
class SurveyAdmin(ReadOnly):
    """Recent activity of all tenants together."""

    list_display = ("id", "at", "tenants", "enqueued", "started", "weights")


@admin.register(models.Tenant)
class TenantAdmin(Permitted):
    """Tenants, their limits and weights; a tenant with live jobs cannot be deleted here."""

    form = TenantForm
    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    list_display = (
        "id", "name", "state", "source", "max_concurrency", "enqueue_rate", "max_queue_depth",
        "max_scheduled", "fairness_weight", "priority_boost", "quota_mode", "updated_at",
    )  # fmt: skip
    list_filter = ("state", "source", "quota_mode")
    search_fields = ("id", "name")
    search_help_text = "A part of the id or the name"
    ordering = ("id",)
    readonly_fields = SHOWN
    actions = ("suspend", "resume")

    def get_view_on_site_url(self, obj: models.Tenant | None = None) -> str | None:
        """Return the link to the tenant's page in the console."""
        return on_console("tenant", obj.pk) if obj else None

    @admin.display(description="new jobs")
    def enqueue_rate(self, row: models.Tenant) -> str:
        """Show the rate as text."""
        if row.enqueue_limit is None or row.enqueue_period_ms is None:
            return "-"
        return f"{row.enqueue_limit} in {row.enqueue_period_ms / 1000:g} s"

    def get_fieldsets(self, request: HttpRequest, obj: models.Tenant | None = None) -> Any:
        """Show the form's fields; only a new tenant has a field for its id."""
        members = ["tenant_id"] * (obj is None) + list(MEMBERS)
        shown = SHOWN if obj is not None else ()
        return [
            (None, {"fields": [*shown, *members]}),
            ("Limits", {"fields": list(LIMITS)}),
            ("Reason", {"fields": ["reason"]}),
        ]

    def save_model(
        self,
        request: HttpRequest,
        obj: models.Tenant,
        form: Any,
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        """Store the form with the service."""
        said, who = form.definition, caller_of(request)
        reason = form.cleaned_data["reason"]
        _unless_refused(lambda: tenants.put(form.tenant(), said, who, reason=reason))
        obj.pk = form.tenant()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return the tenants that cannot be deleted, with the reasons."""
        found, counted, _, kept = super().get_deleted_objects(objs, request)
        obstacles = [str(problem) for row in objs if (problem := tenants.obstacle(row))]
        return found, counted, set(), [*kept, *obstacles]  # its throttle is deleted with it

    def delete_model(self, request: HttpRequest, obj: models.Tenant) -> None:
        """Delete with the service, which refuses if the tenant got jobs meanwhile."""
        _unless_refused(lambda: tenants.delete(str(obj.pk), caller_of(request)))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[models.Tenant]) -> None:
        """Delete each tenant with the service."""
        for row in queryset:
            self.delete_model(request, row)

    @admin.action(description="Suspend the selected tenants")
    def suspend(self, request: HttpRequest, queryset: QuerySet[models.Tenant]) -> None:
        """Suspend tenants: refuse their new jobs and start none."""
        self._set(request, queryset, Standing.SUSPENDED)

    @admin.action(description="Resume the selected tenants")
    def resume(self, request: HttpRequest, queryset: QuerySet[models.Tenant]) -> None:
        """Resume suspended tenants."""
        self._set(request, queryset, Standing.ACTIVE)

    def _set(
        self, request: HttpRequest, queryset: QuerySet[models.Tenant], standing: Standing
    ) -> None:
        for row in queryset:
            tenants.set_standing(str(row.pk), standing, caller_of(request))
        messages.success(request, f"{len(queryset)} tenants are {standing} now.")


def _unless_refused(work: Callable[[], object]) -> None:
    try:
        work()
    except OJSError as problem:
        raise PermissionDenied(str(problem)) from problem
