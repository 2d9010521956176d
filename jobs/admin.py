"""The core in Django admin: everything to read, and API keys to make and revoke.

Changes of jobs, queues and workers go through services, so the admin offers none; the console does.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from jobs import models
from jobs.domain import keys
from jobs.domain.caller import Caller
from jobs.domain.claim import POOL_PATTERN
from jobs.services import api_keys

MANY = 10_000


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # generic only for type checkers
    """Counts at most MANY rows: an exact count would scan a table that grows."""

    @cached_property
    def count(self) -> int:
        """Return how many rows can be paged through."""
        listed = self.object_list
        return listed[:MANY].count() if isinstance(listed, QuerySet) else len(listed)


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # generic only for type checkers
    """Shows rows and changes nothing; lists follow an index and are counted up to a limit."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False


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
    """Tell whether text is a UUID."""
    try:
        forms.UUIDField().clean(text)
    except forms.ValidationError:
        return False
    return True


@admin.register(models.Job)
class JobAdmin(ById):
    """Wide rows; the state of a live job stands in its narrow row."""

    list_display = ("id", "type", "queue", "tenant", "priority", "attempt", "created_at")


@admin.register(models.Queue)
class QueueAdmin(ReadOnly):
    """Queues and whether they are paused."""

    list_display = ("name", "paused_at", "created_at", "updated_at")
    search_fields = ("name",)


@admin.register(models.Lane)
class LaneAdmin(ReadOnly):
    """What the scheduler chooses between."""

    list_display = (
        "queue", "priority", "tenant", "route", "weight", "ordered", "limits", "vt", "active",
        "blocked_by", "paused",
    )  # fmt: skip
    list_filter = ("active", "paused")
    search_fields = ("queue", "tenant")
    ordering = ("queue", "rank", "vt")


@admin.register(models.Ready)
class ReadyAdmin(ReadOnly):
    """Available jobs."""

    list_display = ("id", "lane_id", "seq", "attempt", "enqueued_at", "expires_at")
    ordering = ("-id",)


@admin.register(models.Lease)
class LeaseAdmin(ReadOnly):
    """Active jobs and who holds them."""

    list_display = ("id", "worker_id", "tenant", "pool", "attempt", "started_at", "due_at")
    ordering = ("due_at",)


@admin.register(models.Later)
class LaterAdmin(ReadOnly):
    """Scheduled, pending and retryable jobs."""

    list_display = ("id", "kind", "due_at", "lane_id", "attempt", "expires_at")
    ordering = ("-id",)


@admin.register(models.Worker)
class WorkerAdmin(ReadOnly):
    """Workers that fetched or heartbeated."""

    list_display = (
        "id", "hostname", "pid", "reported", "directive", "concurrency", "started_at",
        "last_heartbeat_at", "dead_at", "stopped_at",
    )  # fmt: skip
    search_fields = ("id", "hostname")
    ordering = ("id",)


@admin.register(models.LoopTick)
class LoopTickAdmin(ReadOnly):
    """When each loop last did its turn."""

    list_display = ("name", "ticked_at")
    ordering = ("name",)


@admin.register(models.Audit)
class AuditAdmin(ReadOnly):
    """Who did what."""

    list_display = ("at", "actor", "action", "outcome", "target", "reason", "address")
    search_fields = ("action__exact", "actor__exact")
    search_help_text = "A whole action or actor"
    ordering = ("-id",)


@admin.register(models.Maintenance)
class MaintenanceAdmin(ReadOnly):
    """Whether nothing is handed out."""

    list_display = ("started_at", "ends_at", "reason", "actor")


@admin.register(models.Replay)
class ReplayAdmin(ReadOnly):
    """Jobs that were retried after their end."""

    list_display = ("job_id", "replays", "last_at", "rule")
    ordering = ("job_id",)


@admin.register(models.ReplayRule)
class ReplayRuleAdmin(ReadOnly):
    """What is retried by itself."""

    list_display = ("name", "queue", "type", "error_type", "tenant", "delay_ms", "max_replays")


class GlobsField(forms.CharField):
    """Globs by comma; none matches everything."""

    def clean(self, value: Any) -> list[str]:
        """Split the globs."""
        return [glob for part in super().clean(value).split(",") if (glob := part.strip())]


class NewKeyForm(forms.ModelForm):  # type: ignore[type-arg]  # generic only for type checkers
    """What a key is made with."""

    name = forms.CharField()
    scopes = forms.MultipleChoiceField(
        choices=[(name, name) for name in (*keys.GROUPS, *sorted(keys.SCOPES))],
        initial=["producer", "worker"],
        help_text="Roles or single scopes; roles are stored as the scopes they stand for.",
    )
    tenant = forms.CharField(
        required=False, empty_value=None, help_text="Bound to one tenant; empty: not bound."
    )
    queues_enqueue = GlobsField(
        required=False, help_text="Globs of queues it may enqueue to, by comma; empty: all."
    )
    queues_fetch = GlobsField(
        required=False, help_text="Globs of queues it may fetch from, by comma; empty: all."
    )
    job_types = GlobsField(
        required=False, help_text="Globs of job types it may enqueue, by comma; empty: all."
    )
    pool = forms.RegexField(
        POOL_PATTERN, required=False, empty_value=None,
        help_text="Workers that use it are in this pool; empty: in any.",
    )  # fmt: skip
    tls_subject = forms.CharField(
        required=False, empty_value=None, help_text="Subject of a certificate that stands for it."
    )

    class Meta:
        model = models.ApiKey
        fields = (
            "name", "scopes", "tenant", "queues_enqueue", "queues_fetch", "job_types",
            "pool", "tls_subject", "expires_at",
        )  # fmt: skip


@admin.register(models.ApiKey)
class ApiKeyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic only for type checkers
    """Keys are made, rotated and revoked here; nothing else of a key can be changed."""

    form = NewKeyForm
    list_display = (
        "name", "shown_prefix", "tenant", "created_at", "expires_at", "last_used_at", "revoked_at",
    )  # fmt: skip
    ordering = ("-created_at",)
    actions = ("rotate", "revoke")

    @admin.display(description="key")
    def shown_prefix(self, key: models.ApiKey) -> str:
        """Show what can be recognised of a key."""
        return keys.shown(key.prefix)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse: the list is for those who may view, revoking asks for the delete permission."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse: a revoked key stays, as the record of who had access."""
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Tell whether the user may rotate and revoke keys."""
        return request.user.has_perm("ojs_jobs.change_apikey")

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Show all but the hash."""
        if obj is None:
            return NewKeyForm.Meta.fields
        return ("shown_prefix", *NewKeyForm.Meta.fields, "created_at", "created_by",
                "last_used_at", "previous_valid_until", "revoked_at")  # fmt: skip

    def save_model(
        self,
        request: HttpRequest,
        obj: models.ApiKey,
        form: Any,
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        """Make the key by the service, and show its text this one time."""
        asked = form.cleaned_data
        made, text = api_keys.create(
            api_keys.NewKey(
                name=asked["name"],
                scopes=tuple(asked["scopes"]),
                tenant=asked["tenant"],
                queues_enqueue=tuple(asked["queues_enqueue"]),
                queues_fetch=tuple(asked["queues_fetch"]),
                job_types=tuple(asked["job_types"]),
                expires_at=asked["expires_at"],
                tls_subject=asked["tls_subject"],
                pool=asked["pool"],
            ),
            caller_of(request),
        )
        obj.pk, obj.prefix = made.pk, made.prefix
        messages.warning(request, f"Copy the key now, it is not shown again: {text}")

    @admin.action(description="Revoke the chosen keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[models.ApiKey]) -> None:
        """Revoke for good."""
        who = caller_of(request)
        revoked = sum(api_keys.revoke(key.prefix, who) for key in queryset)
        self.message_user(request, f"{revoked} keys revoked.")

    @admin.action(description="Give the chosen keys new secrets", permissions=["revoke"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[models.ApiKey]) -> None:
        """Rotate, and show the new texts this one time; the old secrets open for a day yet."""
        for key in queryset:
            text = api_keys.rotate(key.prefix, caller=caller_of(request))
            if text is None:
                messages.error(request, f"{key} is not valid any more.")
            else:
                messages.warning(request, f"Copy the new key now, it is not shown again: {text}")


def caller_of(request: HttpRequest) -> Caller:
    """Return who acts, as the audit log names them."""
    who = f"admin:{request.user.get_username()}"
    return Caller(who, address=request.META.get("REMOTE_ADDR"))
