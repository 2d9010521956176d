"""The form of a new API key."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

from jobs.domain.access import keys
from jobs.domain.dispatch.claim import POOL_PATTERN
from jobs.services.access.api_keys import NewKey, is_subject_taken

LIFETIMES = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "no expiry"))
GRACES = (("1440", "a day"), ("60", "an hour"), ("10080", "a week"), ("0", "no grace period"))
ROLES = ("producer", "worker", "operator", "admin")
MAX_NAME = 100


class GlobsField(forms.CharField):
    """Globs separated by commas; an empty field matches everything."""

    def clean(self, value: Any) -> tuple[str, ...]:
        """Split the globs."""
        return tuple(glob for part in super().clean(value).split(",") if (glob := part.strip()))


class KeyForm(forms.Form):
    """The fields of a new key; `new` is the argument of the service."""

    name = forms.CharField(
        max_length=MAX_NAME, help_text="The person or system that will use the key."
    )
    scopes = forms.MultipleChoiceField(
        choices=[(name, name) for name in (*ROLES, *sorted(keys.SCOPES))],
        initial=["producer"],
        widget=forms.SelectMultiple(attrs={"size": 8}),
        help_text="Roles or single scopes.",
    )
    lifetime = forms.ChoiceField(choices=LIFETIMES, required=False, initial="90", label="Valid for")
    tenant = forms.CharField(
        required=False, empty_value=None, max_length=256, help_text="Empty: all tenants."
    )
    queues_enqueue = GlobsField(
        required=False,
        label="Enqueues to",
        help_text="Comma-separated patterns. Empty: all queues.",
    )
    queues_fetch = GlobsField(
        required=False,
        label="Fetches from",
        help_text="Comma-separated patterns. Empty: all queues.",
    )
    job_types = GlobsField(
        required=False, label="Job types", help_text="Comma-separated patterns. Empty: all types."
    )
    pool = forms.RegexField(
        POOL_PATTERN, required=False, empty_value=None,
        help_text="Workers with this key belong to this pool. Empty: any pool.",
    )  # fmt: skip
    region = forms.RegexField(
        keys.REGION_PATTERN, required=False, empty_value=None,
        help_text="For a peer: the key acts for this region only. Empty: any region.",
    )  # fmt: skip
    tls_subject = forms.CharField(
        required=False, empty_value=None, label="Certificate subject",
        help_text="A client with this certificate needs no secret.",
    )  # fmt: skip

    def clean_tls_subject(self) -> str | None:
        """Refuse the subject of another key."""
        subject: str | None = self.cleaned_data["tls_subject"]
        if subject and is_subject_taken(subject):
            raise forms.ValidationError("Another key has this subject.")
        return subject

    @property
    def new(self) -> NewKey:
        """Return the key that a valid form describes."""
        asked = self.cleaned_data
        days = asked["lifetime"]
        return NewKey(
            name=asked["name"],
            scopes=tuple(asked["scopes"]),
            tenant=asked["tenant"],
            queues_enqueue=asked["queues_enqueue"],
            queues_fetch=asked["queues_fetch"],
            job_types=asked["job_types"],
            expires_at=timezone.now() + timedelta(days=int(days)) if days else None,
            tls_subject=asked["tls_subject"],
            pool=asked["pool"],
            region=asked["region"],
        )
