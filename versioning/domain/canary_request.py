"""Parse routing rules of a request, and convert stored rules. Spec: contract 22.4.

All members are checked; an error raises Unprocessable or InvalidVersion and names the member.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from jobs.domain.errors import InvalidRequest, Unprocessable
from jobs.domain.wire.durations import format_duration, parse_short_duration
from versioning.domain.canary import WHOLE, Mode, OnNoWorker, Share, newest, ramped
from versioning.domain.evidence import Guard
from versioning.domain.schema_errors import InvalidVersion
from versioning.domain.version import parse_version

MAX_RULES, MAX_STEPS, MAX_WEIGHT, MAX_SAMPLES = 20, 20, 1_000_000, 1_000_000
MAX_SIGNIFICANCE: Final = 0.5
FALLBACK_MS, WINDOW_MS = 30_000, 300_000
SECOND_MS, DAY_MS = 1_000, 86_400_000
MIN_WINDOW_MS: Final = 5_000  # the interval of the loop that checks it
MAX_BAKE_MS: Final = 30 * DAY_MS
ACTION: Final = "route_all_to_previous"
MEMBERS: Final = {
    "type", "rules", "mode", "on_no_worker", "fallback_after", "auto_rollback", "plan", "revision",
}  # fmt: skip
GUARD: Final = {
    "error_rate_threshold", "evaluation_window", "min_samples", "action", "significance",
    "cool_down",
}  # fmt: skip
PLAN: Final = {"steps", "bake_time", "min_samples"}


@dataclass(frozen=True, slots=True)
class Plan:
    """Successive percentages of the newest version, and the observation time of each."""

    steps: tuple[float, ...]
    bake_ms: int
    min_samples: int = 0  # additional outcomes of the newest version that a step needs


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requested rules of a type; `revision` is the revision to replace."""

    type: str
    shares: tuple[Share, ...]
    mode: Mode = Mode.COMPATIBLE
    on_no_worker: OnNoWorker = OnNoWorker.HOLD
    fallback_ms: int = FALLBACK_MS
    guard: Guard | None = None
    plan: Plan | None = None
    revision: int | None = None


def parse_wanted(job_type: str, body: Mapping[str, Any]) -> Wanted:
    """Read the rules of a type. Raises OJSError."""
    _require_members(body, MEMBERS, "")
    if body.get("type") not in (None, job_type):
        raise Unprocessable.field("type", "must be that of the path", body["type"])
    wanted = Wanted(
        type=job_type,
        shares=_shares(body),
        mode=Mode(_word(body, "mode", tuple(Mode))),
        on_no_worker=OnNoWorker(_word(body, "on_no_worker", tuple(OnNoWorker))),
        fallback_ms=_duration(body, "fallback_after", "", (0, DAY_MS), FALLBACK_MS),
        guard=_guard(body.get("auto_rollback")),
        plan=_plan(body.get("plan")),
        revision=parse_revision(body.get("revision")),
    )
    if wanted.plan is None:
        return wanted
    if len(wanted.shares) == 1:
        raise Unprocessable.field("plan", "needs a second version to take the rest")
    return replace(wanted, shares=ramped(wanted.shares, wanted.plan.steps[0]))


def _shares(body: Mapping[str, Any]) -> tuple[Share, ...]:
    raw = body.get("rules")
    if raw is None:
        raise InvalidRequest.field("rules", "is required")
    if not isinstance(raw, list) or not 1 <= len(raw) <= MAX_RULES:
        raise Unprocessable.field("rules", f"must be an array of 1 to {MAX_RULES} rules", raw)
    found = tuple(_share(n, one) for n, one in enumerate(raw))
    for n, one in enumerate(found):
        if any(one.version == other.version for other in found[:n]):
            raise Unprocessable.field(f"rules[{n}].version", "is in the rules twice", one.text)
    if not sum(one.weight for one in found):
        raise Unprocessable.field("rules", "must have a weight above 0")
    return found


def _share(n: int, raw: object) -> Share:
    name = f"rules[{n}]"
    if not isinstance(raw, Mapping):
        raise Unprocessable.field(name, "must be an object with version and weight", raw)
    _require_members(raw, {"version", "weight"}, f"{name}.")
    text: Any = raw.get("version")
    try:
        version = parse_version(text)
    except ValueError as problem:
        raise InvalidVersion.field(f"{name}.version", str(problem), text) from None
    weight = _number(raw.get("weight"), f"{name}.weight", 0, MAX_WEIGHT)
    return Share(text, version, weight)


def _guard(raw: object) -> Guard | None:
    if raw is None:
        return None
    name = "auto_rollback"
    given = _object(raw, name, GUARD)
    _word(given, "action", (ACTION,), f"{name}.")
    significance = given.get("significance")
    if significance is not None:
        significance = _number(significance, f"{name}.significance", 0, MAX_SIGNIFICANCE)
        if not significance:
            raise Unprocessable.field(f"{name}.significance", "must be above 0", 0)
    return Guard(
        threshold=_number(given.get("error_rate_threshold"), f"{name}.error_rate_threshold", 0, 1),
        window_ms=_duration(
            given, "evaluation_window", f"{name}.", (MIN_WINDOW_MS, DAY_MS), WINDOW_MS
        ),
        min_samples=_count(given, "min_samples", f"{name}.", 1, 20),
        significance=significance,
        cool_down_ms=_duration(given, "cool_down", f"{name}.", (0, DAY_MS), 0),
    )


def _plan(raw: object) -> Plan | None:
    if raw is None:
        return None
    given = _object(raw, "plan", PLAN)
    steps = given.get("steps")
    if not isinstance(steps, list) or not 1 <= len(steps) <= MAX_STEPS:
        raise Unprocessable.field(
            "plan.steps", f"must be an array of 1 to {MAX_STEPS} percentages", steps
        )
    read = tuple(_number(one, f"plan.steps[{n}]", 0, WHOLE) for n, one in enumerate(steps))
    for n, one in enumerate(read):
        if one <= (read[n - 1] if n else 0):
            raise Unprocessable.field(
                f"plan.steps[{n}]",
                "must be above the one before it" if n else "must be above 0",
                one,
            )
    if given.get("bake_time") is None:
        raise InvalidRequest.field("plan.bake_time", "is required")
    bake_ms = _duration(given, "bake_time", "plan.", (SECOND_MS, MAX_BAKE_MS), 0)
    return Plan(read, bake_ms, _count(given, "min_samples", "plan.", 0, 0))


def parse_revision(raw: object) -> int | None:
    """Read the revision of the rules to change; None: any revision. Raises Unprocessable."""
    if raw is None:
        return None
    found = _whole(raw)
    if found is None or not 0 <= found < 2**63:
        raise Unprocessable.field("revision", "must be that of the rules to replace", raw)
    return found


def _object(raw: object, name: str, members: set[str]) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise Unprocessable.field(name, "must be an object", raw)
    _require_members(raw, members, f"{name}.")
    return raw


def _require_members(raw: Mapping[str, Any], members: set[str], prefix: str) -> None:
    for name in raw:
        if name not in members:
            raise Unprocessable.field(f"{prefix}{name[:40]}", "is not known")


def _word(raw: Mapping[str, Any], name: str, allowed: tuple[str, ...], prefix: str = "") -> str:
    """Read one of the allowed words; the first is the default."""
    said = raw.get(name)
    if said is None:
        return allowed[0]
    if not isinstance(said, str) or said not in allowed:
        raise Unprocessable.field(f"{prefix}{name}", f"must be one of {', '.join(allowed)}", said)
    return said


def _number(raw: object, name: str, least: float, most: float) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not least <= raw <= most:
        raise Unprocessable.field(name, f"must be a number from {least} to {most}", raw)
    return raw


def _count(raw: Mapping[str, Any], name: str, prefix: str, least: int, default: int) -> int:
    said = raw.get(name)
    if said is None:
        return default
    found = _whole(said)
    if found is None or not least <= found <= MAX_SAMPLES:
        raise Unprocessable.field(
            f"{prefix}{name}", f"must be an integer from {least} to {MAX_SAMPLES}", said
        )
    return found


def _whole(raw: object) -> int | None:
    """Read an integer, which JSON may write as 5.0; None: not an integer."""
    if isinstance(raw, float) and raw.is_integer():
        return int(raw)
    return raw if type(raw) is int else None


def _duration(
    raw: Mapping[str, Any], name: str, prefix: str, bounds: tuple[int, int], default: int
) -> int:
    said = raw.get(name)
    if said is None:
        return default
    try:
        ms = parse_short_duration(said)
    except ValueError as problem:
        raise Unprocessable.field(f"{prefix}{name}", str(problem), said) from None
    if not bounds[0] <= ms <= bounds[1]:
        least, most = (format_duration(one) for one in bounds)
        raise Unprocessable.field(f"{prefix}{name}", f"must be from {least} to {most}", said)
    return ms


# --- as it is stored ------------------------------------------------------------------------------


def share_rows(shares: tuple[Share, ...]) -> list[dict[str, Any]]:
    """Return rules as they are stored and shown."""
    return [{"version": one.text, "weight": one.weight} for one in shares]


def shares_of(rows: list[dict[str, Any]]) -> tuple[Share, ...]:
    """Read stored rules."""
    return tuple(
        Share(one["version"], parse_version(one["version"]), one["weight"]) for one in rows
    )


def guard_row(guard: Guard | None) -> dict[str, Any] | None:
    """Return a guard as it is stored."""
    return None if guard is None else asdict(guard)


def guard_of(row: dict[str, Any] | None) -> Guard | None:
    """Read a stored guard."""
    return None if row is None else Guard(**row)


def plan_row(plan: Plan | None) -> dict[str, Any] | None:
    """Return a plan as it is stored."""
    return None if plan is None else asdict(plan)


def plan_of(row: dict[str, Any] | None) -> Plan | None:
    """Read a stored plan."""
    if row is None:
        return None
    return Plan(tuple(row["steps"]), row["bake_ms"], row["min_samples"])


def percent_of(shares: tuple[Share, ...]) -> float:
    """Return how many percent of the jobs go to the newest version."""
    return WHOLE * newest(shares).weight / sum(one.weight for one in shares)
