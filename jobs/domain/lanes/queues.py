"""The configuration of a queue. Spec: contract 10.4, 24.4, 27.4."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobs.domain.errors import InvalidRequest
from jobs.domain.lanes.limits import MOST, LimitPolicy, check_waits, parse_policy, whole
from jobs.domain.lanes.objective import merge_objective
from jobs.domain.outcome.retry import DEFAULT_POLICY, RetryPolicy
from jobs.domain.outcome.retry import parse_policy as parse_retry
from jobs.domain.wire.bounds import MAX_MS, MIN_LEASE_MS
from jobs.domain.wire.durations import format_duration, parse_period
from jobs.domain.wire.names import TYPE_PATTERN

STRATEGIES: Final = ("reject", "block", "drop_oldest")
WARNING: Final = 0.8  # of the bound
BOUNDS: Final = {"max_depth": MOST, "max_size_bytes": 10**15}  # and their highest values
FOR_EVER: Final = (None, 0, "0", "P0D", "PT0S")
RETAINED: Final = ("completed", "discarded", "cancelled")
MAX_TYPES: Final = 1000
PREFIX: Final = re.compile(r"(?:[a-z][a-z0-9_.-]*)?\*")


@dataclass(frozen=True, slots=True)
class Bound:
    """The bound on waiting jobs or bytes of a queue, and the action at the bound; one is set."""

    max_depth: int | None = None
    max_size_bytes: int | None = None
    strategy: str = "reject"
    warning_threshold: float = WARNING

    def tightest(self, jobs: int, size: int) -> "Pressure":
        """Return the tightest bound and its use for so many waiting jobs and bytes."""
        used = [
            Pressure(unit, held, most)
            for unit, held, most in (
                ("jobs", jobs, self.max_depth), ("bytes", size, self.max_size_bytes),
            )
            if most is not None
        ]  # fmt: skip
        return max(used, key=lambda pressure: pressure.ratio)

    def allows(self, jobs: int, size: int) -> bool:
        """Return whether so many jobs and bytes may wait."""
        return self.tightest(jobs, size).ratio <= 1


@dataclass(frozen=True, slots=True)
class Pressure:
    """The use of a bound; `unit` is jobs or bytes."""

    unit: str
    held: int
    bound: int

    @property
    def ratio(self) -> float:
        """The used part; 1 is full."""
        return self.held / self.bound


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """The effect of a configuration on an enqueue; defaults for absent members."""

    bound: Bound | None = None
    visibility_ms: int | None = None
    timeout_ms: int | None = None
    default_retry: Mapping[str, Any] | None = None
    allowed_types: tuple[str, ...] = ("*",)
    rate_limit: Mapping[str, Any] | None = None
    is_draining: bool = False

    def allows(self, job_type: str) -> bool:
        """Return whether jobs of this type may be stored."""
        return any(
            job_type.startswith(name[:-1]) if name.endswith("*") else job_type == name
            for name in self.allowed_types
        )

    def retry_base(self, of_server: RetryPolicy = DEFAULT_POLICY) -> RetryPolicy:
        """Return the policy that a job's own is merged over."""
        return parse_retry(self.default_retry, of_server, max_attempts=None)


def policy_of(config: Mapping[str, Any], *, is_draining: bool = False) -> QueuePolicy:
    """Read a stored configuration."""
    pressure = config.get("backpressure") or {}
    return QueuePolicy(
        bound=Bound(**pressure) if pressure else None,
        visibility_ms=config.get("visibility_timeout_ms"),
        timeout_ms=config.get("default_timeout_ms"),
        default_retry=config.get("default_retry"),
        allowed_types=tuple(config.get("allowed_job_types") or ("*",)),
        rate_limit=config.get("rate_limit"),
        is_draining=is_draining,
    )


def limit_of(config: Mapping[str, Any]) -> LimitPolicy:
    """Return the limit that a stored configuration sets on the queue's active jobs."""
    rate = parse_policy(config.get("rate_limit") or {})
    return LimitPolicy(config.get("concurrency"), rate.rate, rate.rate_ms)


def merge(stored: Mapping[str, Any], change: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    """Return `stored` with a checked change: absent members stay, null resets a member.

    Unknown members are refused when `strict`, else ignored. Raises InvalidRequest and
    InvalidRetryPolicy.
    """
    merged = dict(stored)
    for name, value in _spread(change).items():
        read = READERS.get(name)
        if read is None:
            if strict:
                raise InvalidRequest.field(name, "is not a member of a queue's configuration")
        elif value is None:
            merged.pop(name, None)
        else:
            found = read(value, merged.get(name))
            if found is None:
                merged.pop(name, None)
            else:
                merged[name] = found
    return merged


def _spread(change: Mapping[str, Any]) -> dict[str, Any]:
    """Replace aliases: `max_size` is backpressure.max_depth."""
    spread = dict(change)
    if "max_size" in spread:
        bound = spread.pop("max_size")
        pressure = spread.get("backpressure")
        if pressure is None:
            spread["backpressure"] = {"max_depth": bound}
        elif isinstance(pressure, Mapping):
            spread["backpressure"] = {"max_depth": bound, **pressure}
    for dotted in [name for name in spread if name.startswith("backpressure.")]:
        value = spread.pop(dotted)
        pressure = spread.get("backpressure") or {}
        spread["backpressure"] = {**pressure, dotted.removeprefix("backpressure."): value}
    return spread


def _backpressure(value: object, before: Mapping[str, Any] | None) -> dict[str, Any] | None:
    path = "backpressure"
    if not isinstance(value, Mapping):
        raise InvalidRequest.field(path, "must be an object", value)
    merged = {**(before or {}), **value}
    found: dict[str, Any] = {}
    for name, high in BOUNDS.items():
        most = merged.get(name)
        if most is not None and (number := whole(most, f"{path}.{name}", low=0, high=high)):
            found[name] = number  # 0 means unbounded
    strategy = merged.get("strategy")
    if strategy is not None:
        if strategy not in STRATEGIES:
            raise InvalidRequest.field(
                f"{path}.strategy", "must be one of " + ", ".join(STRATEGIES), strategy
            )
        found["strategy"] = strategy
    threshold = merged.get("warning_threshold")
    if threshold is not None:
        is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not is_number or not 0 < threshold <= 1:
            raise InvalidRequest.field(
                f"{path}.warning_threshold", "must be a number above 0, at most 1", threshold
            )
        found["warning_threshold"] = float(threshold)
    return found if BOUNDS.keys() & found.keys() else None


def _concurrency(value: object, _before: object) -> int:
    return whole(value, "concurrency", low=0)


def _milliseconds(name: str) -> Any:
    return lambda value, _before: whole(value, name, low=MIN_LEASE_MS, high=MAX_MS)


def _rate_limit(value: object, _before: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRequest.field("rate_limit", "must be an object", value)
    policy = parse_policy(value)
    if policy.concurrency is not None or policy.throttle is not None:
        raise InvalidRequest.field(
            "rate_limit", "must have the members limit and period only", dict(value)
        )
    check_waits(policy, "rate_limit.on_limit")
    if policy.rate is None:
        empty = "period" if "period" in value else "limit"
        raise InvalidRequest.field(f"rate_limit.{empty}", "is required: give limit and period")
    return rate_of(policy)


def rate_of(policy: LimitPolicy) -> dict[str, Any]:
    """Return the rate of a queue as a configuration stores it."""
    return {"limit": policy.rate, "period": format_duration(policy.rate_ms or 1000)}


def _retry(value: object, _before: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRequest.field("default_retry", "must be an object", value)
    parse_retry(value, DEFAULT_POLICY, max_attempts=None)
    return dict(value)


def _types(value: object, _before: object) -> list[str]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_TYPES:
        problem = f"must be an array of 1 to {MAX_TYPES}"
        raise InvalidRequest.field("allowed_job_types", problem, value)
    for name in value:
        if not isinstance(name, str) or not (
            TYPE_PATTERN.fullmatch(name) or PREFIX.fullmatch(name)
        ):
            raise InvalidRequest.field(
                "allowed_job_types", "must hold types, or prefixes that end in *", name
            )
    return list(dict.fromkeys(value))


def _retention(value: object, before: Mapping[str, Any] | None) -> dict[str, Any]:
    if isinstance(value, str):
        age = _age(value, "retention")
        return {**(before or {}), "completed": age, "discarded": age}
    if not isinstance(value, Mapping):
        raise InvalidRequest.field("retention", "must be a duration or an object", value)
    kept = dict(before or {})
    for name, given in value.items():
        if name == "dead_letter":
            kept[name] = _dead_letter(given)
        elif name in RETAINED:
            kept[name] = _age(given, f"retention.{name}")
        else:
            raise InvalidRequest.field(f"retention.{name}", "is not a state with a retention")
    return kept


def _dead_letter(given: object) -> Any:
    path = "retention.dead_letter"
    if not isinstance(given, Mapping):
        return _age(given, path)
    unknown = given.keys() - {"max_age", "max_count"}
    if unknown:
        raise InvalidRequest.field(f"{path}.{min(unknown)}", "is not max_age or max_count")
    age, count = given.get("max_age"), given.get("max_count")
    if "max_age" in given and "max_count" in given and not age and not count:
        raise InvalidRequest.field(path, "must be bounded by max_age or max_count")
    found: dict[str, Any] = {}
    if "max_age" in given:
        found["max_age"] = _age(age, f"{path}.max_age")
    if "max_count" in given:
        found["max_count"] = 0 if count is None else whole(count, f"{path}.max_count", low=0)
    return found


def _age(given: object, path: str) -> str | None:
    """Read a retention period; null or 0 is for ever."""
    if given in FOR_EVER and not isinstance(given, bool):
        return None
    try:
        return format_duration(parse_period(given))
    except ValueError as problem:
        raise InvalidRequest.field(path, str(problem), given) from problem


READERS: Final[Mapping[str, Any]] = {
    "backpressure": _backpressure,
    "concurrency": _concurrency,
    "rate_limit": _rate_limit,
    "visibility_timeout_ms": _milliseconds("visibility_timeout_ms"),
    "default_timeout_ms": _milliseconds("default_timeout_ms"),
    "default_retry": _retry,
    "retention": _retention,
    "allowed_job_types": _types,
    "objective": merge_objective,
}
