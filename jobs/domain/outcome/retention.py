"""Retention of ended jobs: a queue's own over the defaults. Spec: contract 10.6, 28.3."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from jobs.domain.wire.durations import parse_short_duration

DAY_MS: Final = 86_400_000
MOST_JOBS: Final = 10**12
AGES: Final = ("completed", "cancelled", "discarded")


class RetentionError(ValueError):
    """An invalid retention; `field` is the path of the member."""

    def __init__(self, field: str, problem: str) -> None:
        """Set the field."""
        super().__init__(problem)
        self.field = field


@dataclass(frozen=True, slots=True)
class Retention:
    """Ages in milliseconds from the end of a job, None for ever; and the dead letter's number."""

    completed: int | None = 7 * DAY_MS
    cancelled: int | None = 7 * DAY_MS
    discarded: int | None = 30 * DAY_MS
    dead_letter: int | None = 180 * DAY_MS
    dead_letter_jobs: int | None = 10_000  # per queue; None: any number


def parse_age(value: object) -> int | None:
    """Return milliseconds, None for null, "0" or a duration of 0, which mean for ever.

    Raises ValueError.
    """
    if value is None or (value in ("0", 0) and not isinstance(value, bool)):
        return None
    return parse_short_duration(value) or None


def parse_retention(raw: object, default: Retention) -> Retention:
    """Read the retention of a queue's configuration, as domain/lanes/queues.py stores it.

    An absent member is the default; null or 0 is without bound. The dead letter has an age, or an
    object with `max_age` and `max_count`, of which at least one must be a bound. Raises
    RetentionError.
    """
    if raw is None:
        return default
    if not isinstance(raw, Mapping):
        raise RetentionError("", "must be an object")
    if unknown := sorted(str(name) for name in raw if name not in (*AGES, "dead_letter")):
        raise RetentionError(unknown[0], "is not a member of the retention")
    kept = replace(default, **{name: _age(name, raw[name]) for name in AGES if name in raw})
    return _with_dead_letter(kept, raw["dead_letter"]) if "dead_letter" in raw else kept


def _with_dead_letter(kept: Retention, raw: object) -> Retention:
    if not isinstance(raw, Mapping):
        raw = {"max_age": raw}
    if unknown := sorted(str(name) for name in raw if name not in ("max_age", "max_count")):
        raise RetentionError(f"dead_letter.{unknown[0]}", "is not max_age or max_count")
    bounds: dict[str, int | None] = {}
    if "max_age" in raw:
        bounds["dead_letter"] = _age("dead_letter.max_age", raw["max_age"])
    if "max_count" in raw:
        bounds["dead_letter_jobs"] = _count("dead_letter.max_count", raw["max_count"])
    found = replace(kept, **bounds)
    if found.dead_letter is None and found.dead_letter_jobs is None:
        raise RetentionError("dead_letter", "must be bounded by max_age or max_count")
    return found


def _age(field: str, value: object) -> int | None:
    try:
        return parse_age(value)
    except ValueError as problem:
        raise RetentionError(field, f"{problem}, or 0 to keep for ever") from None


def _count(field: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_JOBS:
        raise RetentionError(field, f"must be an integer from 0 to {MOST_JOBS}")
    return value or None
