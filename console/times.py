"""Times and durations as texts of pages. The template library `ojs` registers the functions."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.domain.wire.durations import in_words

SECOND = timedelta(seconds=1)
NOTHING = "\N{EN DASH}"
MS = 1000


def clock(at: datetime | None) -> SafeString | str:
    """Show a time as its distance from now, and exactly on hover."""
    if at is None:
        return NOTHING
    exact = at.astimezone(timezone.get_current_timezone())
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        exact.isoformat(),
        f"{exact:%Y-%m-%d %H:%M:%S}.{exact.microsecond // MS:03d} {exact:%Z}",
        _distance(at - timezone.now()),
    )


def age(at: datetime | None) -> SafeString | str:
    """Show for how long something has lasted, and its start exactly on hover."""
    if at is None:
        return NOTHING
    exact = at.astimezone(timezone.get_current_timezone())
    lasted = max(timedelta(), timezone.now() - at)
    return format_html(
        '<time datetime="{}" title="since {}">{}</time>',
        exact.isoformat(),
        f"{exact:%Y-%m-%d %H:%M:%S %Z}",
        span(int(lasted.total_seconds()) * MS) if lasted >= SECOND else "less than 1 s",
    )


def average(ms: float | None) -> str:
    """Show an average duration; services count 0 where nothing was measured."""
    return span(ms or None)


def local(at: datetime) -> SafeString:
    """Show a time in the browser's time zone; without scripts in UTC."""
    return format_html(
        '<time datetime="{}" data-local>{}</time>', at.isoformat(), f"{at:%Y-%m-%d %H:%M} UTC"
    )


def in_zone(at: datetime, zone: str) -> str:
    """Show a time in a zone, given by its IANA name."""
    return f"{at.astimezone(ZoneInfo(zone)):%a %Y-%m-%d %H:%M:%S %Z}"


def _distance(duration: timedelta) -> str:
    seconds = duration.total_seconds()
    text = span(int(abs(seconds)) * MS)
    if abs(seconds) < 1:
        return "now"
    return f"in {text}" if seconds > 0 else f"{text} ago"


def span(ms: float | None) -> str:
    """Show a duration in its two largest units."""
    return NOTHING if ms is None else in_words(ms)
