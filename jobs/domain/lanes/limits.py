"""Limits on the active jobs or the starts of a group of jobs. Spec: contract 27, 10.5."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.durations import format_duration, parse_period

OF_KEY, OF_QUEUE, OF_TENANT, OF_TYPE = range(4)  # codes of Limit.kind
ANY_TENANT: Final = "*"
KEY: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:-]{0,254}")
WHEN_REACHED: Final = ("wait", "reschedule", "drop")
MOST: Final = 1_000_000_000
SECOND_MS, SLOWEST = 1000, 0.001
PARTS: Final = 1000  # slots of a window: the resolution at which starts are counted


@dataclass(frozen=True, slots=True)
class LimitPolicy:
    """The limits of one group; null: none of this kind. `rate` starts in any `rate_ms`.

    `throttle` starts in `throttle_ms`, evenly spaced.
    """

    concurrency: int | None = None
    rate: int | None = None
    rate_ms: int | None = None
    throttle: int | None = None
    throttle_ms: int | None = None
    on_limit: str = "wait"

    @property
    def has_any(self) -> bool:
        """Whether any limit is set."""
        return (self.concurrency, self.rate, self.throttle) != (None, None, None)

    @property
    def slot_ms(self) -> int | None:
        """The width of a slot in which starts are counted, null: starts are not counted."""
        slots = []
        if self.rate_ms is not None:
            slots.append(max(1, self.rate_ms // PARTS))
        if self.throttle is not None and self.throttle_ms is not None:
            slots.append(max(1, self.throttle_ms // self.throttle))
        return min(slots, default=None)

    def to_row(self) -> dict[str, Any]:
        """Return the members that `ojs_room` reads and `from_row` restores."""
        row: dict[str, Any] = {"on_limit": self.on_limit}
        if self.concurrency is not None:
            row["concurrency"] = self.concurrency
        if self.rate is not None:
            row |= {"rate": self.rate, "rate_ms": self.rate_ms}
        if self.throttle is not None and self.throttle_ms is not None:
            row |= {"throttle": self.throttle, "throttle_ms": self.throttle_ms}
            row["gap_ms"] = self.throttle_ms / self.throttle
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Restore a policy from the row that `to_row` made."""
        return cls(**{name: value for name, value in row.items() if name != "gap_ms"})

    def to_wire(self) -> dict[str, Any]:
        """Return the normalized form of the contract."""
        wire: dict[str, Any] = {}
        if self.concurrency is not None:
            wire["concurrency"] = self.concurrency
        for name, limit, ms in (
            ("rate", self.rate, self.rate_ms), ("throttle", self.throttle, self.throttle_ms),
        ):  # fmt: skip
            if limit is not None and ms is not None:
                wire[name] = {"limit": limit, "period": format_duration(ms)}
        return wire


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A job's own limit and its group; `key` null: all jobs of its queue."""

    key: str | None
    policy: LimitPolicy
    is_global: bool = False  # over all tenants

    def to_wire(self) -> dict[str, Any]:
        """Return the normalized member of the envelope."""
        if self.key is None:
            if self.policy.rate_ms == SECOND_MS:
                return {"max_per_second": self.policy.rate}
            return {"limit": self.policy.rate, "period": format_duration(self.policy.rate_ms or 0)}
        return {
            "key": self.key,
            **self.policy.to_wire(),
            "on_limit": self.policy.on_limit,
            "scope": "global" if self.is_global else "tenant",
        }


def parse_rate_limit(raw: object, path: str = "rate_limit") -> RateLimit:
    """Read `rate_limit` of a job in any form of the contract. Raises InvalidRequest."""
    if not isinstance(raw, Mapping):
        raise InvalidRequest.field(path, "must be an object", raw)
    if raw.get("key") is None:
        policy = parse_policy(raw, path)
        if policy.rate is None or policy.concurrency is not None or policy.throttle is not None:
            raise InvalidRequest.field(f"{path}.key", "is required", raw.get("key"))
        check_waits(policy, f"{path}.on_limit")
        return RateLimit(None, policy)
    key = parse_key(raw["key"], f"{path}.key")
    scope = raw.get("scope")
    if scope not in (None, "tenant", "global"):
        raise InvalidRequest.field(f"{path}.scope", "must be tenant or global", scope)
    policy = parse_policy(raw, path)
    if policy == LimitPolicy(on_limit=policy.on_limit):
        raise InvalidRequest.field(path, "must limit concurrency, rate or throttle")
    return RateLimit(key, policy, is_global=scope == "global")


def check_waits(policy: LimitPolicy, path: str) -> None:
    """Check that a queue's limit lets its jobs wait; claims only skip the queue. Spec: 27, RL-6.

    Raises InvalidRequest.
    """
    if policy.on_limit != "wait":
        problem = "must be wait: jobs over the limit of a queue wait"
        raise InvalidRequest.field(path, problem, policy.on_limit)


def parse_key(raw: object, path: str) -> str:
    """Read the name of a group. Raises InvalidRequest."""
    if not isinstance(raw, str) or not KEY.fullmatch(raw):
        raise InvalidRequest.field(
            path, "must be 1 to 255 of letters, digits, '.', '_', ':' and '-'", raw
        )
    return raw


def parse_policy(raw: Mapping[str, Any], path: str = "rate_limit") -> LimitPolicy:
    """Read limits: the spec's form, `max_per_second`, or `limit` and `period` as a rate.

    Raises InvalidRequest.
    """
    on_limit = raw.get("on_limit")
    if on_limit is not None and on_limit not in WHEN_REACHED:
        raise InvalidRequest.field(
            f"{path}.on_limit", "must be one of " + ", ".join(WHEN_REACHED), on_limit
        )
    rate, rate_ms = _rate(raw, path)
    throttle, throttle_ms = _window(raw.get("throttle"), f"{path}.throttle")
    concurrency = raw.get("concurrency")
    if concurrency is not None:
        concurrency = whole(concurrency, f"{path}.concurrency", low=0)
    return LimitPolicy(concurrency, rate, rate_ms, throttle, throttle_ms, str(on_limit or "wait"))


def _rate(raw: Mapping[str, Any], path: str) -> tuple[int | None, int | None]:
    per_second = raw.get("max_per_second")
    if per_second is not None:
        _check_overridden(raw, path)
    if isinstance(per_second, float) and SLOWEST <= per_second <= MOST:
        # round down to whole jobs, so that no second has more
        return int(per_second) or 1, round(max(1, 1 / per_second) * SECOND_MS)
    if per_second is not None:
        return whole(per_second, f"{path}.max_per_second", low=1), SECOND_MS
    if raw.get("limit") is not None:
        return _window(raw, path)
    rate = raw.get("rate")
    if rate is not None and not isinstance(rate, Mapping):
        return _window({"limit": rate, "period": raw.get("period")}, path, limit="rate")
    if raw.get("period") is not None:
        _period(raw["period"], f"{path}.period")
        raise InvalidRequest.field(f"{path}.limit", "is required with a period")
    return _window(rate, f"{path}.rate")


def _check_overridden(raw: Mapping[str, Any], path: str) -> None:
    """Check the members that `max_per_second` overrides, so that no error stays hidden."""
    limit, rate, period = (raw.get(name) for name in ("limit", "rate", "period"))
    if limit is not None:
        whole(limit, f"{path}.limit", low=1)
    if isinstance(rate, Mapping):
        _window(rate, f"{path}.rate")
    elif rate is not None:
        whole(rate, f"{path}.rate", low=1)
    if period is not None:
        _period(period, f"{path}.period")


def _window(raw: object, path: str, limit: str = "limit") -> tuple[int | None, int | None]:
    if raw is None:
        return None, None
    if not isinstance(raw, Mapping):
        raise InvalidRequest.field(path, "must be an object of limit and period", raw)
    if raw.get("limit") is None and raw.get("period") is not None:
        _period(raw["period"], f"{path}.period")  # a present period is checked first
    number = whole(raw.get("limit"), f"{path}.{limit}", low=1)
    return number, _period(raw.get("period"), f"{path}.period")


def _period(raw: object, path: str) -> int:
    try:
        return parse_period(raw)
    except ValueError as problem:
        raise InvalidRequest.field(path, str(problem), raw) from problem


def whole(raw: object, path: str, *, low: int, high: int = MOST) -> int:
    """Read an integer of a limit. Raises InvalidRequest."""
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool) or not low <= raw <= high:
        raise InvalidRequest.field(path, f"must be an integer from {low} to {high}", raw)
    return raw
