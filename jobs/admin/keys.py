"""API keys and users' tenants in Django admin, changed by services."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.postgres.forms import SimpleArrayField
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from jobs import models
from jobs.admin.base import BoundedPaginator, Permitted, caller_of
from jobs.domain.access import keys
from jobs.domain.dispatch.claim import POOL_PATTERN
from jobs.services.access import api_keys, staff

_USER = get_user_model()
_NAME = _USER.USERNAME_FIELD


class GlobsField(forms.CharField):
    """Globs separated by commas; an empty text matches everything."""

    def clean(self, value: Any) -> list[str]:
        """Split the globs."""
        return [glob for part in super().clean(value).split(",") if (glob := part.strip())]


class NewKeyForm(forms.ModelForm):  # type: ignore[type-arg]  # generic only for type checkers
    """The members of a new key."""

    name = forms.CharField()
    scopes = forms.MultipleChoiceField(
        choices=[(name, name) for name in (*keys.GROUPS, *sorted(keys.SCOPES))],
        initial=["producer", "worker"],
        help_text="Roles or single scopes. The server stores the scopes of each role.",
    )
    tenant = forms.CharField(
        required=False, empty_value=None, help_text="Bound to one tenant; empty: not bound."
    )
    queues_enqueue = GlobsField(
        required=False,
        help_text="Globs of queues that the key may enqueue to, by comma; empty: all.",
    )
    queues_fetch = GlobsField(
        required=False,
        help_text="Globs of queues that the key may fetch from, by comma; empty: all.",
    )
    job_types = GlobsField(
        required=False,
        help_text="Globs of job types that the key may enqueue, by comma; empty: all.",
    )
    pool = forms.RegexField(
        POOL_PATTERN, required=False, empty_value=None,
        help_text="The pool of workers that use the key; empty: any pool.",
    )  # fmt: skip
    region = forms.RegexField(
        keys.REGION_PATTERN, required=False, empty_value=None,
        help_text="Of a peer: the region whose copies it may report; empty: any region.",
    )  # fmt: skip
    tls_subject = forms.CharField(
        required=False,
        empty_value=None,
        help_text="Subject of a client certificate that works in place of the key.",
    )

    def clean_tls_subject(self) -> str | None:
        """Refuse the subject of another key."""
        subject: str | None = self.cleaned_data["tls_subject"]
        if subject and api_keys.is_subject_taken(subject):
            raise forms.ValidationError("Another key has this subject.")
        return subject

    class Meta:
        model = models.ApiKey
        fields = (
            "name", "scopes", "tenant", "queues_enqueue", "queues_fetch", "job_types",
            "pool", "region", "tls_subject", "expires_at",
        )  # fmt: skip


@admin.register(models.ApiKey)
class ApiKeyAdmin(Permitted):
    """Makes, rotates and revokes keys; no other member of a key can be changed.

    A revoked key stays, as the record of past access.
    """

    form = NewKeyForm
    list_display = (
        "name", "shown_prefix", "tenant", "created_at", "expires_at", "last_used_at", "revoked_at",
    )  # fmt: skip
    list_filter = ("revoked_at", "expires_at")
    search_fields = ("name", "prefix__exact", "tenant__exact")
    search_help_text = "A part of the name, or a whole prefix or tenant"
    paginator = BoundedPaginator
    show_full_result_count = False
    ordering = ("-created_at",)
    actions = ("rotate", "revoke")
    page_of_secrets = "admin/ojs_jobs/secret.html"

    @admin.display(description="key")
    def shown_prefix(self, key: models.ApiKey) -> str:
        """Show the public part of a key."""
        return keys.shown(key.prefix)

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
        """Make the key by the service; `response_add` shows its text."""
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
                region=asked["region"],
            ),
            caller_of(request),
        )
        obj.pk, obj.prefix = made.pk, made.prefix
        obj.made_text = text  # type: ignore[attr-defined]  # for `response_add`, in this request

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the text of the key in this answer, and store it nowhere."""
        return self._shown(request, {obj.name: obj.made_text}, "The key is made")

    def _shown(self, request: HttpRequest, secrets: dict[str, str], title: str) -> HttpResponse:
        facts = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "secrets": list(secrets.items()),
        }
        return TemplateResponse(request, self.page_of_secrets, facts)

    @admin.action(description="Revoke the selected keys")
    def revoke(self, request: HttpRequest, queryset: QuerySet[models.ApiKey]) -> None:
        """Revoke the keys for good."""
        who = caller_of(request)
        revoked = sum(api_keys.revoke(key.prefix, who) for key in queryset)
        self.message_user(request, f"{revoked} keys revoked.")

    @admin.action(description="Give the selected keys new secrets")
    def rotate(
        self, request: HttpRequest, queryset: QuerySet[models.ApiKey]
    ) -> HttpResponse | None:
        """Rotate, and show the new texts this one time; the old secrets stay valid for a day."""
        texts: dict[str, str] = {}
        for key in queryset:
            text = api_keys.rotate(key.prefix, caller=caller_of(request))
            if text is None:
                messages.error(request, f"{key} is not valid any more.")
            else:
                texts[f"{key.name} ({self.shown_prefix(key)})"] = text
        return self._shown(request, texts, "The keys have new secrets") if texts else None


class StaffForm(forms.ModelForm):  # type: ignore[type-arg]  # generic only for type checkers
    """A user and the tenants it is restricted to."""

    tenants = SimpleArrayField(
        forms.CharField(max_length=256),
        required=False,
        help_text="Ids by comma. None: the user sees nothing.",
    )

    class Meta:
        model = models.Staff
        fields = ("user", "tenants")


@admin.register(models.Staff)
class StaffAdmin(Permitted):
    """Users who see and change the data of some tenants alone."""

    form = StaffForm
    list_display = ("user", "tenants")
    list_select_related = ("user",)
    search_fields = (f"user__{_NAME}",)
    search_help_text = "A part of the user's name"
    raw_id_fields = ("user",)  # where the admin has no search for users
    ordering = (f"user__{_NAME}",)

    def get_autocomplete_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Search users if the project's admin can; `autocomplete_fields` would require it."""
        site = self.admin_site
        can_search = site.is_registered(_USER) and site.get_model_admin(_USER).get_search_fields(
            request
        )
        return ("user",) if can_search else ()

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Keep the user fixed."""
        return ("user",) if obj else ()

    def save_model(
        self,
        request: HttpRequest,
        obj: models.Staff,
        form: Any,
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        """Restrict by the service."""
        staff.restrict(obj.user, form.cleaned_data["tenants"], caller_of(request))

    def delete_model(self, request: HttpRequest, obj: models.Staff) -> None:
        """Remove the restriction of a user."""
        staff.free(obj.user, caller_of(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[models.Staff]) -> None:
        """Remove the restriction of each user."""
        for row in queryset:
            self.delete_model(request, row)
