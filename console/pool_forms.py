"""Forms of pools, and the API requests that they stand for.

Each error appears beside its field, in the words of the API's refusal.
"""

from collections.abc import Mapping
from typing import Any

from console.refusals import Wrong, number, told
from jobs.domain.caller import Caller
from jobs.domain.errors import OJSError, Unprocessable
from scheduling.api.pool_codec import decode_defaults, encode_defaults, encode_pool
from scheduling.domain.pool_request import parse_pool
from scheduling.models import Configuration
from scheduling.services import configuration, pools
from scheduling.services.pools import PoolState

TEXTS = (
    "name", "queues", "strategy", "scope", "concurrency", "rotation", "ratio", "tenants", "default",
    "sharing", "over", "tenant",
)  # fmt: skip
FLAGS = ("isolated", "prevention")
EMPTY = {
    "name": "", "queues": "", "strategy": "round-robin", "concurrency": "", "isolated": "",
    "prevention": "", "rotation": "PT30S", "ratio": "0.05", "tenants": "", "default": "",
    "sharing": "", "over": "", "tenant": "",
}  # fmt: skip
# by names of the API; the longest name that begins a field's path decides
FIELDS = {
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


def wrong(problem: OJSError) -> Wrong:
    """Return the field and the text of a refusal."""
    return told(problem, FIELDS, lambda inner: f"weight of {inner}")


def read(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a form, to show them again after an error."""
    texts = {name: form.get(name, "").replace("\x00", "").strip() for name in TEXTS}
    return texts | {name: "on" if form.get(name) else "" for name in FLAGS}


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


def store(fields: Mapping[str, str], before: PoolState | None, who: Caller) -> str:
    """Store a new pool or a change of `before`, as the API does; return its name.

    Raises OJSError.
    """
    name = before.pool.name if before else fields["name"]
    known = encode_pool(before) if before else {}
    queues, weights = _queues(fields["queues"])
    body = {
        "queues": queues,
        "weights": weights,
        "strategy": fields["strategy"],
        "concurrency": number(fields["concurrency"]),
        "isolated": bool(fields["isolated"]),
        "tenant": fields["tenant"] or None,
        "starvation_prevention": {
            **known.get("starvation_prevention", {}),
            "enabled": bool(fields["prevention"]),
            "rotation_interval": fields["rotation"] or None,
            "min_dispatch_ratio": number(fields["ratio"]),
        },
        "tenant_fairness": _fairness(fields, known.get("tenant_fairness")),
    }
    pool = parse_pool(name, body)
    if before is None and pools.is_known(name):
        raise Unprocessable.field("name", "is taken by another pool", name)
    pools.put(pool, who)
    return name


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


def _fairness(fields: Mapping[str, str], known: Mapping[str, Any] | None) -> dict[str, Any] | None:
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
        **(known or {}),
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


def configure(fields: Mapping[str, str], who: Caller) -> None:
    """Set the configuration as the API does. Raises OJSError."""
    shown = encode_defaults(configuration.defaults())
    body = {
        **shown,
        "default_strategy": fields["strategy"] or None,
        "priority_scope": fields["scope"] or None,
        "tenant_fairness": _fairness(fields, shown["tenant_fairness"]),
    }
    configuration.configure(decode_defaults(body), who)
