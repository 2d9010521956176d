"""The form of a tenant, for the console and Django's admin.

Its fields follow from the schema of `PUT /ojs/v1/admin/tenants/{id}`, so new members of the schema
appear here by themselves. An empty field is absent from the request: unlimited, or the default.
"""

from collections.abc import Mapping
from typing import Any, Final

from django import forms

from jobs.api.schemas import Schema
from jobs.domain.access.caller import MAX_REASON
from jobs.domain.errors import OJSError
from tenancy.api import tenant_codec as codec
from tenancy.conf import conf
from tenancy.domain.tenant import Definition, TenantLimits
from tenancy.domain.tenant_id import RULE, is_tenant_id
from tenancy.domain.tenant_request import MAX_NAME, MOST, SHOWN, parse_tenant
from tenancy.models import Tenant
from tenancy.services.tenant_cache import limits_of

RATE: Final = "max_enqueue_rate"
PERIOD: Final = "max_enqueue_period"
EVERY: Final = "PT1M"  # if the form has no period
LEFT: Final = SHOWN | {"tenant_id", "id", "state", "limits"}  # read-only, or entered separately
# label, and the meaning of an empty field
WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "name": ("Name", ""),
    "fairness_weight": ("Fairness weight", "weight of the pool, else 1"),
    "priority_boost": ("Priority boost", "0"),
    "quota_mode": ("Jobs over a limit are", ""),
    "isolation": ("Isolation", "server default"),
    "max_concurrency": ("Active jobs", "unlimited"),
    RATE: ("New jobs per period", "unlimited"),
    PERIOD: ("Period", EVERY),
    "max_queue_depth": ("Available and scheduled jobs", "unlimited"),
    "max_scheduled": ("Scheduled jobs", "unlimited"),
    "max_queues": ("Queues with jobs", "unlimited"),
}
CHOICES: Final = {"hard": "refused", "soft": "accepted, with an event"}


def _bare(schema: Schema) -> Schema:
    """Return the schema of a member without null."""
    for one in schema.get("anyOf", ()):
        if one.get("type") != "null":
            return _bare(one)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return {**schema, "type": next(kind for kind in kinds if kind != "null")}
    return schema


def _field(name: str, schema: Schema) -> forms.Field:
    label, empty = WORDS.get(name, (name.replace("_", " ").capitalize(), ""))
    common: dict[str, Any] = {"required": False, "label": label}
    if "enum" in schema:
        named = [(one, CHOICES.get(one, one)) for one in schema["enum"]]
        return forms.ChoiceField(choices=[("", empty)] * bool(empty) + named, **common)
    widget = forms.TextInput(attrs={"placeholder": empty} if empty else {})
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("type") == "integer":
        widget.attrs["inputmode"] = "numeric"
        return forms.IntegerField(min_value=low, max_value=high, widget=widget, **common)
    if schema.get("type") == "number":
        widget.attrs["inputmode"] = "decimal"
        return forms.FloatField(min_value=low, max_value=high, widget=widget, **common)
    return forms.CharField(max_length=schema.get("maxLength", MAX_NAME), widget=widget, **common)


def _members() -> dict[str, forms.Field]:
    """Return the fields for all members of a tenant except its limits."""
    found = {name: _bare(one) for name, one in codec.PUT["properties"].items() if name not in LEFT}
    return {name: _field(name, one) for name, one in found.items() if "const" not in one}


def _limits() -> dict[str, forms.Field]:
    found: dict[str, forms.Field] = {}
    for name, schema in codec.LIMIT_MEMBERS.items():
        if name == RATE:
            found[RATE] = _field(RATE, {"type": "integer", "minimum": 1, "maximum": MOST})
            found[PERIOD] = _field(PERIOD, {"type": "string"})
        else:
            found[name] = _field(name, _bare(schema))
    return found


MEMBERS: Final = _members()
LIMITS: Final = _limits()


_Fields = type("_Fields", (forms.ModelForm,), {**MEMBERS, **LIMITS})

# limits that can be set one by one
LABELS: Final = {
    name: "New jobs per minute" if name == RATE else str(field.label)
    for name, field in LIMITS.items()
    if name != PERIOD
}


class TenantForm(_Fields):  # type: ignore[misc, valid-type]  # made of the schema
    """All members of a tenant; `definition` is the parsed result of a valid form."""

    tenant_id = forms.CharField(
        label="Id", max_length=255, help_text="Letters, digits, . _ : and -"
    )
    reason = forms.CharField(label="Reason, for the audit log", max_length=MAX_REASON)

    definition: Definition

    class Meta:
        model = Tenant
        fields = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Show `instance`; without an instance the form creates a tenant."""
        instance: Tenant | None = kwargs.get("instance")
        shown = values(instance) if instance else {"quota_mode": "hard"}
        kwargs["initial"] = {**shown, **(kwargs.get("initial") or {})}
        super().__init__(*args, **kwargs)
        self.stored = instance
        if instance is not None:
            del self.fields["tenant_id"]

    def clean_tenant_id(self) -> str:
        """Check the id of a new tenant."""
        wanted: str = self.cleaned_data["tenant_id"]
        if not is_tenant_id(wanted, conf().default):
            raise forms.ValidationError(f"It {RULE}.")
        if Tenant.objects.filter(id=wanted).exists():
            raise forms.ValidationError("A tenant with this id exists.")
        return wanted

    def clean(self) -> dict[str, Any]:
        """Parse the request for the API and report its errors."""
        given = self.cleaned_data
        try:
            self.definition = parse_tenant(self.tenant(), _body(given))
        except OJSError as problem:
            self.refuse(problem)
        return dict(given)

    def refuse(self, problem: OJSError) -> None:
        """Add the error of a refused request, to its field if it names one."""
        name, words = _wrong(problem)
        self.add_error(name if name in self.fields else None, words)

    def _post_clean(self) -> None:
        """Leave the row unchanged: a service stores the form."""

    def tenant(self) -> str:
        """Return the id of the form's tenant; empty if the entered id is invalid."""
        return str(self.stored.id) if self.stored else self.cleaned_data.get("tenant_id", "")


def values(row: Tenant) -> dict[str, Any]:
    """Return the configuration of a tenant, by field."""
    limits = limits_of(row).to_wire()
    rate = limits.get(RATE)
    found = {name: getattr(row, name, None) for name in MEMBERS}
    found |= {name: limits.get(name) for name in LIMITS}
    if isinstance(weight := found.get("fairness_weight"), float):
        found["fairness_weight"] = f"{weight:g}"
    return {**found, RATE: rate and rate["limit"], PERIOD: rate and rate["period"]}


def said(row: Tenant) -> list[tuple[str, str]]:
    """Return label and text of a tenant's configuration except its limits."""
    shown = values(row)
    return [
        (str(field.label), _said(name, shown[name]))
        for name, field in MEMBERS.items()
        if name != "name" or shown[name]
    ]


def _said(name: str, value: Any) -> str:
    if value is None:
        return WORDS.get(name, ("", ""))[1]
    return CHOICES.get(value, str(value))


def _body(given: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: given[name] for name in MEMBERS if given.get(name) not in (None, "")}
    limits = {name: given.get(name) for name in LIMITS if name not in {RATE, PERIOD}}
    if given.get(RATE) is not None or given.get(PERIOD):
        limits[RATE] = {"limit": given.get(RATE), "period": given.get(PERIOD) or EVERY}
    return {**said, "limits": limits}


def one_limit(name: str, text: str, before: TenantLimits) -> TenantLimits:
    """Return `before` with one limit changed, a rate per minute; empty text: unlimited.

    Raises Unprocessable.
    """
    value: object = int(text) if text.isdecimal() and text.isascii() else text or None
    if name == RATE and value is not None:
        value = {"limit": value, "period": EVERY}
    return codec.decode_limits({"limits": {name: value}}, before)


def _wrong(problem: OJSError) -> tuple[str, str]:
    """Return the field that a refusal names, and the problem as a sentence."""
    path = str(problem.details.get("field", "")).removeprefix("limits.")
    name = {f"{RATE}.limit": RATE, f"{RATE}.period": PERIOD}.get(path, path)
    expected = problem.details.get("expected")
    return name, f"It {expected}." if expected else f"{str(problem).capitalize()}."
