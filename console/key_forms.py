"""The form of a new API key."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

from jobs.domain.access import keys
from jobs.domain.dispatch.claim import POOL_PATTERN
from jobs.services.access.api_keys import NewKey, is_subject_taken

LIFETIMES = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "for ever"))
GRACES = (("1440", "a day"), ("60", "an hour"), ("10080", "a week"), ("0", "not at all"))
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
        required=False, empty_value=None, max_length=256, help_text="Empty: bound to none."
    )
    queues_enqueue = GlobsField(
        required=False, label="Enqueues to", help_text="Globs by comma; empty: all queues."
    )
    queues_fetch = GlobsField(
        required=False, label="Fetches from", help_text="Globs by comma; empty: all queues."
    )
    job_types = GlobsField(
        required=False, label="Job types", help_text="Globs by comma; empty: all."
    )
    pool = forms.RegexField(
        POOL_PATTERN, required=False, empty_value=None,
        help_text="Workers that use it are in this pool; empty: in any.",
    )  # fmt: skip
    region = forms.RegexField(
        keys.REGION_PATTERN, required=False, empty_value=None,
        help_text="Of a peer: the key may act for this region only. Empty: for any.",
    )  # fmt: skip
    tls_subject = forms.CharField(
        required=False, empty_value=None, label="Subject of a certificate",
        help_text="Of the client that needs no secret then.",
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
