"""Forms of a pool and of the configuration, and the API requests that they stand for."""

from collections.abc import Mapping
from typing import Any, Final

from console.api_form import ApiForm, FlagField, TextField
from console.refusals import number
from jobs.domain.errors import OJSError, Unprocessable
from scheduling.api.pool_codec import decode_defaults, encode_defaults, encode_pool
from scheduling.domain.pool import Pool
from scheduling.domain.pool_request import parse_pool
from scheduling.models import Configuration
from scheduling.services import configuration, pools
from scheduling.services.pools import PoolState

API_NAMES: Final = {
    "name": "name", "queues": "queues", "weights": "queues", "strategy": "strategy",
    "concurrency": "concurrency", "isolated": "isolated", "tenant": "tenant",
    "starvation_prevention": "prevention", "starvation_prevention.rotation_interval": "rotation",
    "starvation_prevention.min_dispatch_ratio": "ratio", "tenant_fairness": "tenants",
    "tenant_fairness.weights": "tenants", "tenant_fairness.default_weight": "default",
    "tenant_fairness.scope": "over", "tenant_fairness.cost": "sharing",
    "default_strategy": "strategy", "priority_scope": "scope",
}  # fmt: skip
# sharing policies, in the words of the form
SHARING: dict[str, dict[str, Any]] = {
    "jobs": {"enabled": True, "cost": "dispatch"},
    "time": {"enabled": True, "cost": "duration"},
    "order": {"enabled": False},
}
LINES = "must have a name and a weight on each line"


class TenantsForm(ApiForm):
    """The fields of a sharing policy."""

    api_names = API_NAMES
    tenants = TextField()
    default = TextField()
    sharing = TextField()
    over = TextField()

    @staticmethod
    def inside(path: str) -> str:
        """Describe a weight by its queue or tenant."""
        return f"weight of {path}"


class PoolForm(TenantsForm):
    """A new pool, or a change of `before`; `pool` is the parsed result of a valid form."""

    name = TextField()
    queues = TextField()
    strategy = TextField("round-robin")
    concurrency = TextField()
    isolated = FlagField()
    prevention = FlagField()
    rotation = TextField("PT30S")
    ratio = TextField("0.05")
    tenant = TextField()

    pool: Pool

    def __init__(self, *args: Any, before: PoolState | None = None, **kwargs: Any) -> None:
        """Show `before`; without a pool the form creates one."""
        self.before = before
        super().__init__(*args, **{"initial": fields_of(before) if before else None, **kwargs})

    def clean(self) -> None:
        """Parse the pool as the API does. A new pool needs a free name."""
        given = self.cleaned_data
        try:
            self.pool = parse_pool(
                self.before.pool.name if self.before else given["name"], _body(given, self.before)
            )
            if self.before is None and pools.exists(self.pool.name):
                raise Unprocessable.field("name", "is taken by another pool", self.pool.name)
        except OJSError as problem:
            self.refuse(problem)


class ConfigurationForm(TenantsForm):
    """The configuration outside of pools; `wanted` is the parsed result of a valid form."""

    strategy = TextField()
    scope = TextField()

    wanted: configuration.Wanted

    def clean(self) -> None:
        """Parse the configuration as the API does."""
        given, shown = self.cleaned_data, encode_defaults(configuration.defaults())
        try:
            self.wanted = decode_defaults({
                **shown,
                "default_strategy": given["strategy"] or None,
                "priority_scope": given["scope"] or None,
                "tenant_fairness": _fairness(given, shown["tenant_fairness"]),
            })  # fmt: skip
        except OJSError as problem:
            self.refuse(problem)


def fields_of(state: PoolState) -> dict[str, str]:
    """Return a pool as fields of its form."""
    shown = encode_pool(state)
    prevention = shown["starvation_prevention"]
    weights = zip(state.pool.queues, state.pool.weights, strict=True)
    has_weights = any(weight != 1 for weight in state.pool.weights)
    return {
        "name": shown["name"],
        "queues": "\n".join(f"{name} {n}" if has_weights else name for name, n in weights),
        "strategy": shown["strategy"],
        "concurrency": str(shown["concurrency"] or ""),
        "isolated": "on" if shown["isolated"] else "",
        "tenant": shown["tenant"] or "",
        "prevention": "on" if prevention["enabled"] else "",
        "rotation": prevention["rotation_interval"],
        "ratio": f"{prevention['min_dispatch_ratio']:g}",
        **_tenants_of(shown["tenant_fairness"]),
    }


def _tenants_of(fairness: Mapping[str, Any] | None) -> dict[str, str]:
    if fairness is None:
        return {"tenants": "", "default": "", "sharing": "", "over": ""}
    lines = [f"{tenant} {weight}" for tenant, weight in fairness["weights"].items()]
    sharing = "time" if fairness["cost"] == "duration" else "jobs"
    return {
        "tenants": "\n".join(lines),
        "default": str(fairness["default_weight"]),
        "sharing": sharing if fairness["enabled"] else "order",
        "over": fairness["scope"],
    }


def _body(fields: Mapping[str, Any], before: PoolState | None) -> dict[str, Any]:
    stored = encode_pool(before) if before else {}
    queues, weights = _queues(fields["queues"])
    return {
        "queues": queues,
        "weights": weights,
        "strategy": fields["strategy"],
        "concurrency": number(fields["concurrency"]),
        "isolated": fields["isolated"],
        "tenant": fields["tenant"] or None,
        "starvation_prevention": {
            **stored.get("starvation_prevention", {}),
            "enabled": fields["prevention"],
            "rotation_interval": fields["rotation"] or None,
            "min_dispatch_ratio": number(fields["ratio"]),
        },
        "tenant_fairness": _fairness(fields, stored.get("tenant_fairness")),
    }


def _queues(text: str) -> tuple[list[str], dict[str, Any]]:
    names: list[str] = []
    weights: dict[str, Any] = {}
    for line in text.splitlines():
        name, _, weight = line.strip().partition(" ")
        if name:
            names.append(name)
        if weight:
            weights[name] = number(weight.strip())
    return names, weights


def _fairness(fields: Mapping[str, str], stored: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Read the sharing policy; None if all fields are empty, which means the default."""
    sharing = fields["sharing"]
    if not any(fields[name] for name in ("tenants", "default", "sharing", "over")):
        return None
    if sharing and sharing not in SHARING:
        raise Unprocessable.field("tenant_fairness", "must be a way to share", sharing)
    weights: dict[str, Any] = {}
    for line in filter(None, map(str.strip, fields["tenants"].splitlines())):
        tenant, _, weight = line.rpartition(" ")
        if not tenant:
            raise Unprocessable.field("tenant_fairness", LINES, line)
        weights[tenant.strip()] = number(weight)
    return {
        **(stored or {}),
        **SHARING.get(sharing, {}),
        "weights": weights,
        "default_weight": number(fields["default"]),
        "scope": fields["over"] or None,
    }


def configured(defaults: configuration.Defaults) -> dict[str, str]:
    """Return the configuration as fields of its form; an empty strategy means the settings'."""
    row = Configuration.objects.first()
    shown = encode_defaults(defaults)
    has_strategy = row is not None and row.default_strategy is not None
    has_tenants = row is not None and row.tenants is not None
    return {
        "strategy": shown["default_strategy"] if has_strategy else "",
        "scope": (row and row.priority_scope) or "",
        **_tenants_of(shown["tenant_fairness"] if has_tenants else None),
    }
