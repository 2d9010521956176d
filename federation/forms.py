"""The form of a region in Django's admin; what it sends is judged as what the API is sent."""

from typing import Any, ClassVar

from django import forms

from federation.domain.errors import FederationConfigError
from federation.domain.reading import read_region
from federation.domain.region import MAX_ID, MAX_NUMBER, AuthKind, Region
from federation.models import Region as Row
from federation.services.configure import require_reachable

REFERENCE = "env:NAME or file:/path, never the secret itself"
PATH = "file:/path of PEM"


class RegionForm(forms.ModelForm):  # type: ignore[type-arg]  # generic only for type checkers
    """Everything that is said of a region; `region` is what a valid one says."""

    MEMBERS: ClassVar[tuple[str, ...]] = (
        "url", "weight", "tags", "is_hub", "enabled", "drain", "max_queue_depth", "auth_kind",
        "token_ref", "cert_ref", "key_ref", "ca_ref", "allow_insecure",
    )  # fmt: skip

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
        label="Authentication", choices=[(str(one), str(one)) for one in AuthKind]
    )
    token_ref = forms.CharField(label="Token", required=False, help_text=REFERENCE)
    cert_ref = forms.CharField(label="Certificate", required=False, help_text=PATH)
    key_ref = forms.CharField(label="Key of the certificate", required=False, help_text=PATH)
    ca_ref = forms.CharField(label="Authority", required=False, help_text=PATH)
    allow_insecure = forms.BooleanField(
        required=False, label="Plain HTTP", help_text="For a server on this machine only"
    )

    region: Region

    class Meta:
        model = Row
        fields = ("is_hub", "enabled", "drain")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Fill in what is stored; who it is, is asked of a new one alone."""
        super().__init__(*args, **kwargs)
        row = self.instance
        if row.pk:
            del self.fields["region_id"]
            self.initial = {name: getattr(row, name) for name in self.MEMBERS}
            self.initial["tags"] = ", ".join(row.tags)

    def clean(self) -> dict[str, Any]:
        """Read the region as the API does."""
        given = super().clean() or {}
        if not self.errors:
            try:
                self.region = read_region(self._members(given))
                require_reachable(self.region)
            except FederationConfigError as problem:
                self._refuse(problem)
        return given

    def _members(self, given: dict[str, Any]) -> dict[str, Any]:
        tags = [one.strip() for one in given["tags"].split(",") if one.strip()]
        names = ("url", "weight", "is_hub", "enabled", "drain", "max_queue_depth", "allow_insecure")
        refs = ("token_ref", "cert_ref", "key_ref", "ca_ref")
        auth = {name: given[name] or None for name in refs}
        return {
            **{name: given[name] for name in names},
            "id": self.instance.pk or given["region_id"],
            "tags": tags,
            "auth": {"kind": given["auth_kind"], **auth},
        }

    def _refuse(self, problem: FederationConfigError) -> None:
        name = str(problem.details.get("field", "")).removeprefix("auth.").partition("[")[0]
        name = {"kind": "auth_kind", "id": "region_id"}.get(name, name)
        self.add_error(name if name in self.fields else None, problem.message)

    def _post_clean(self) -> None:
        """Leave the row to the service."""
