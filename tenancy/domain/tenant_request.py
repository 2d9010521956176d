"""Parse a tenant from a request or from the settings. Spec: MT 8.1, contract 21.2.

All members are checked; an error raises Unprocessable and names the member.
"""

from collections.abc import Mapping
from typing import Any, Final

from jobs.domain.errors import Unprocessable
from jobs.domain.wire.durations import parse_period
from tenancy.domain.tenant import (
    ISOLATIONS,
    MAX_BOOST,
    MAX_WEIGHT,
    MIN_WEIGHT,
    Definition,
    QuotaMode,
    Rate,
    Standing,
    TenantLimits,
)

MOST: Final = 1_000_000_000
MAX_NAME: Final = 255
MEMBERS: Final = frozenset(
    {
        "tenant_id", "id", "name", "state", "limits", "fairness_weight", "priority_boost",
        "quota_mode", "isolation",
    }
)  # fmt: skip
# read-only members of GET: accepted and ignored, so that clients can send an answer back
SHOWN: Final = frozenset(
    {
        "tenant", "source", "effective_weight", "stats", "created_at", "updated_at", "throttle",
        "noisy", "noisy_reasons", "noisy_signals",
    }
)  # fmt: skip
LIMITS: Final = (
    "max_concurrency", "max_enqueue_rate", "max_queue_depth", "max_scheduled", "max_queues",
)  # fmt: skip
# follow from the limits above; also accepted and ignored
MIRRORS: Final = ("max_concurrent_jobs", "max_jobs_per_second")


def parse_tenant(tenant_id: str, body: Mapping[str, Any]) -> Definition:
    """Read a definition; absent members get their default. Raises Unprocessable."""
    for name in body:
        if name not in MEMBERS | SHOWN:
            raise Unprocessable.field(name, "is not a member of a tenant", body[name])
    for name in ("tenant_id", "id"):
        if body.get(name) not in (None, tenant_id):
            raise Unprocessable.field(name, "must be that of the path", body[name])
    raw = body.get("limits")
    if raw is not None and not isinstance(raw, Mapping):
        raise Unprocessable.field("limits", "must be an object", raw)
    return Definition(
        limits=parse_limits(raw or {}, TenantLimits()),
        name=_name(body.get("name")),
        weight=_weight(body.get("fairness_weight")),
        boost=_boost(body.get("priority_boost")),
        quota_mode=QuotaMode(_one_of(body, "quota_mode", tuple(QuotaMode)) or QuotaMode.HARD),
        isolation=_one_of(body, "isolation", ISOLATIONS),
        standing=_standing(body),
    )


def parse_limits(raw: Mapping[str, Any], before: TenantLimits) -> TenantLimits:
    """Return `before` with the given members; null clears a member. Raises Unprocessable."""
    for name in raw:
        if name not in {*LIMITS, *MIRRORS}:
            raise Unprocessable.field(f"limits.{name}", "is not a limit of tenants", raw[name])
    given = {name: getattr(before, name) for name in LIMITS}
    given |= {name: _limit(name, raw[name]) for name in LIMITS if name in raw}
    return TenantLimits(**given)


def _limit(name: str, raw: object) -> int | Rate | None:
    if raw is None:
        return None
    if name == "max_enqueue_rate":
        return _rate(raw)
    return _whole(raw, f"limits.{name}", low=0)


def _rate(raw: object) -> Rate:
    path = "limits.max_enqueue_rate"
    if not isinstance(raw, Mapping):
        raise Unprocessable.field(path, "must be an object of limit and period", raw)
    for name in raw:
        if name not in {"limit", "period"}:
            raise Unprocessable.field(f"{path}.{name}", "is not a member of a rate", raw[name])
    limit = _whole(raw.get("limit"), f"{path}.limit", low=1)
    try:
        return Rate(limit, parse_period(raw.get("period")))
    except ValueError as problem:
        raise Unprocessable.field(f"{path}.period", str(problem), raw.get("period")) from None


def _whole(raw: object, path: str, *, low: int, high: int = MOST) -> int:
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool) or not low <= raw <= high:
        raise Unprocessable.field(path, f"must be an integer from {low} to {high}", raw)
    return raw


def _name(raw: object) -> str | None:
    if raw is None:
        return None
    if not isinstance(raw, str) or not 1 <= len(raw) <= MAX_NAME or "\0" in raw:
        raise Unprocessable.field("name", f"must be a text of 1 to {MAX_NAME} characters", raw)
    return raw


def _weight(raw: object) -> float | None:
    if raw is None:
        return None
    if (
        not isinstance(raw, int | float)
        or isinstance(raw, bool)
        or not MIN_WEIGHT <= raw <= MAX_WEIGHT
    ):
        raise Unprocessable.field(
            "fairness_weight", f"must be a number from {MIN_WEIGHT} to {MAX_WEIGHT}", raw
        )
    return float(raw)


def _boost(raw: object) -> int:
    if raw is None:
        return 0
    return _whole(raw, "priority_boost", low=-MAX_BOOST, high=MAX_BOOST)


def _one_of(body: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str | None:
    raw = body.get(name)
    if raw is not None and raw not in allowed:
        raise Unprocessable.field(name, f"must be one of {', '.join(allowed)}", raw)
    return raw


def _standing(body: Mapping[str, Any]) -> Standing | None:
    given = _one_of(body, "state", tuple(Standing))
    return None if given is None else Standing(given)
