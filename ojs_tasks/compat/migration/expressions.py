"""Cron expressions of Celery's and django-q2's schedules."""

from datetime import datetime, timedelta
from typing import Any, Final

FIELDS: Final = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
SHORTEST_MS: Final = 1000  # of `@every`
HOUR_MINUTES: Final = 60


class NoExpression(ValueError):
    """A schedule that has no cron expression; the message says why."""


def of_celery(schedule: Any) -> str:
    """Return the expression of a crontab, a schedule, a timedelta, or a number of seconds."""
    if hasattr(schedule, "_orig_minute"):
        return _crontab(schedule)
    length = getattr(schedule, "run_every", schedule)
    if isinstance(length, int | float):
        length = timedelta(seconds=length)
    if not isinstance(length, timedelta):
        raise NoExpression(f"no cron expression describes {schedule!r}")
    return every(length)


def every(length: timedelta) -> str:
    """Return the expression of a length."""
    ms = round(length / timedelta(milliseconds=1))
    if ms < SHORTEST_MS:
        raise NoExpression(f"{length} is shorter than a second")
    seconds, rest = divmod(ms, 1000)
    return f"@every {ms}ms" if rest else f"@every {seconds}s"


def of_django_q(kind: str, at: datetime, minutes: int | None, cron: str | None) -> str:
    """Return the expression of a schedule's type; `at` is its next run in local time."""
    if kind == "C":
        return str(cron or "").strip()
    if kind == "I":
        return _minutes(minutes or 1)
    moment = f"{at.minute} {at.hour}"
    known = {
        "H": f"{at.minute} * * * *",
        "D": f"{moment} * * *",
        "W": f"{moment} * * {at.isoweekday() % 7}",
        "M": f"{moment} {at.day} * *",
        "Q": f"{moment} {at.day} {_quarters(at.month)} *",
        "Y": f"{moment} {at.day} {at.month} *",
    }
    if kind not in known:
        raise NoExpression(f"no cron expression describes the schedule type {kind!r}")
    return known[kind]


def _crontab(schedule: Any) -> str:
    parts = [_field(getattr(schedule, f"_orig_{name}")) for name in FIELDS]
    if "*" not in {parts[2], parts[4]}:
        raise NoExpression(
            "crontab requires both the day of the month and the weekday; a cron expression runs on"
            " either"
        )
    return " ".join(parts)


def _field(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(str(one) for one in sorted(value, key=str))
    return str(value).replace(" ", "")


def _minutes(minutes: int) -> str:
    if minutes < HOUR_MINUTES and HOUR_MINUTES % minutes == 0:
        return f"*/{minutes} * * * *" if minutes > 1 else "* * * * *"
    return f"@every {minutes}m"


def _quarters(month: int) -> str:
    return ",".join(str(one) for one in sorted((month - 1 + 3 * n) % 12 + 1 for n in range(4)))
