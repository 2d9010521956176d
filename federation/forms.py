"""The form of a region in Django's admin; input is checked as in the API."""

from dataclasses import replace
from typing import Any, ClassVar

from django import forms

from federation.domain.errors import FederationConfigError
from federation.domain.reading import read_given_auth, read_region
from federation.domain.region import MAX_ID, MAX_NUMBER, MAX_SECRET, AuthKind, Region
from federation.models import Region as Row
from federation.models import Source
from federation.services.registry import configure
from federation.services.registry.registry import region_of


class RegionForm(forms.ModelForm):  # type: ignore[type-arg]  # generic only for type checkers
    """The fields of a region for operators; `region` is the result of a valid form."""

    OPTIONS: ClassVar[tuple[str, ...]] = (
        "weight", "tags", "is_hub", "enabled", "drain", "max_queue_depth",
    )  # fmt: skip
    ADDRESS: ClassVar[tuple[str, ...]] = ("url", "auth_kind", "token", "allow_insecure")

    region_id = forms.CharField(label="Id", max_length=MAX_ID)
    url = forms.CharField(label="URL", max_length=2048)
    weight = forms.IntegerField(
        min_value=0, max_value=MAX_NUMBER, initial=1,
        help_text="0: chosen by neither overflow nor failover",
    )  # fmt: skip
    tags = forms.CharField(required=False, help_text="Separated by commas")
    max_queue_depth = forms.IntegerField(
        required=False, min_value=0, max_value=MAX_NUMBER,
        help_text="Available jobs at which it is full; empty: never",
    )  # fmt: skip
    auth_kind = forms.ChoiceField(
        label="Authentication",
        choices=[(str(one), str(one)) for one in (AuthKind.NONE, AuthKind.BEARER)],
    )
    token = forms.CharField(
        required=False, max_length=MAX_SECRET, strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown; empty: the stored token stays",
    )  # fmt: skip
    allow_insecure = forms.BooleanField(
        required=False, label="Plain HTTP", help_text="For a server on this machine only"
    )

    region: Region

    class Meta:
        model = Row
        fields = ("is_hub", "enabled", "drain")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Fill in the stored values; only a new region has the field of the id."""
        super().__init__(*args, **kwargs)
        row = self.instance
        if row.pk:
            del self.fields["region_id"]
            self.initial = {name: getattr(row, name) for name in self.OPTIONS}
            self.initial |= {"tags": ", ".join(row.tags), "url": row.url}
            self.initial["allow_insecure"] = row.allow_insecure
            known = AuthKind.NONE if row.sealed_token is None else AuthKind.BEARER
            self.initial["auth_kind"] = str(known)
        for name in self.ADDRESS if self.is_stated else ():
            del self.fields[name]

    @classmethod
    def asked(cls, row: Row | None) -> tuple[str, ...]:
        """Return the editable fields of a region; regions of the settings have fewer."""
        return cls.OPTIONS if _is_stated(row) else (*cls.ADDRESS, *cls.OPTIONS)

    @property
    def is_stated(self) -> bool:
        """Whether it is a region of the settings."""
        return _is_stated(self.instance)

    def clean(self) -> dict[str, Any]:
        """Read the region as the API does."""
        given = super().clean() or {}
        if not self.errors:
            try:
                self.region = self._read(given)
                configure.judge(self.region)
            except FederationConfigError as problem:
                self._refuse(problem)
        return given

    def _read(self, given: dict[str, Any]) -> Region:
        tags = [one.strip() for one in given["tags"].split(",") if one.strip()]
        members = {name: given[name] for name in self.OPTIONS} | {"tags": tags}
        if self.is_stated:
            return replace(region_of(self.instance), **members)
        auth = {"kind": given["auth_kind"], "token": given["token"] or None}
        own = {"url": given["url"], "allow_insecure": given["allow_insecure"], "auth": auth}
        region_id = self.instance.pk or given["region_id"]
        return read_region({"id": region_id, **members, **own}, read_given_auth)

    def _refuse(self, problem: FederationConfigError) -> None:
        name = str(problem.details.get("field", "")).removeprefix("auth.").partition("[")[0]
        name = {"kind": "auth_kind", "id": "region_id"}.get(name, name)
        self.add_error(name if name in self.fields else None, problem.message)

    def _post_clean(self) -> None:
        """Skip the change of the row: the service changes it."""


def _is_stated(row: Row | None) -> bool:
    return row is not None and bool(row.pk) and row.source == Source.STATIC
