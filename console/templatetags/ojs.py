"""How facts look: states, times, durations, JSON."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import orjson
from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.queries import WorkerRow
from jobs.domain.states import State, state_of
from jobs.models import DEFAULT_TENANT
from jobs.services.heartbeat import Standing
from jobs.services.queues import QueueStats

register = template.Library()

NOTHING = "\N{EN DASH}"
MS, MINUTE, HOUR, DAY = 1000, 60, 3600, 86_400
UNITS = ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "min"), (MINUTE, "min", 1, "s"))


@register.filter
def state(code: int) -> str:
    """Return the name of a state code."""
    return state_of(code).value


@register.simple_tag
def badge(name: str, text: str = "") -> SafeString:
    """Show a state; colour comes from the stylesheet, the word is always there."""
    return format_html('<span class="badge {}">{}</span>', name, text or name)


@register.filter
def clock(at: datetime | None) -> SafeString | str:
    """Show a time as its distance from now, exactly on hover."""
    if at is None:
        return NOTHING
    exact = at.astimezone(timezone.get_current_timezone())
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        exact.isoformat(),
        f"{exact:%Y-%m-%d %H:%M:%S}.{exact.microsecond // MS:03d} {exact:%Z}",
        _distance(at - timezone.now()),
    )


def _distance(apart: timedelta) -> str:
    seconds = apart.total_seconds()
    text = span(int(abs(seconds)) * MS)
    if abs(seconds) < 1:
        return "now"
    return f"in {text}" if seconds > 0 else f"{text} ago"


@register.filter
def span(ms: float | None) -> str:
    """Show a length of time with the two units that matter."""
    if ms is None:
        return NOTHING
    if ms < MS:
        return f"{ms:.0f} ms"
    seconds = ms / MS
    if seconds < MINUTE:
        return f"{seconds:.3g} s"
    for unit, name, part, part_name in UNITS:
        if seconds >= unit:
            rest = int(seconds % unit // part)
            return f"{seconds // unit:.0f} {name}" + f" {rest} {part_name}" * bool(rest)
    raise AssertionError(ms)


@register.filter
def number(value: int) -> str:
    """Show a count with thin groups of three."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


@register.filter
def parsed(text: str | bytes | None) -> Any:
    """Parse stored JSON text."""
    return None if text is None else orjson.loads(text)


@register.filter
def pretty(value: Any) -> str:
    """Show JSON, given as text or as values, indented."""
    if value is None:
        return ""
    stored = orjson.loads(value) if isinstance(value, str | bytes) else value
    return orjson.dumps(stored, option=orjson.OPT_INDENT_2).decode()


@register.filter
def short(job_id: str) -> str:
    """Show the end of an id: the part that differs between neighbours."""
    return f"…{job_id[-12:]}"


@register.filter
def percent(fraction: float | None) -> int:
    """Turn 0…1 into whole percent."""
    return round((fraction or 0) * 100)


@register.filter
def tenant(name: str) -> str:
    """Show a tenant; jobs that named none belong to the default one."""
    return NOTHING if name == DEFAULT_TENANT else name


@register.filter
def joined(names: Any) -> str:
    """Show a list of names."""
    return ", ".join(map(str, names)) if isinstance(names, list) else str(names)


@register.filter
def lines(text: Any) -> str:
    """Show a backtrace, kept as text or as lines."""
    return "\n".join(map(str, text)) if isinstance(text, list) else str(text)


@register.filter
def newest_first(values: list[Any] | None) -> list[Any]:
    """Turn a history round."""
    return list(reversed(values or []))


@register.filter
def words(text: str) -> list[str]:
    """Split a constant list of names."""
    return text.split()


@register.filter
def member(holder: object, name: str) -> Any:
    """Read a named member."""
    return getattr(holder, name)


@register.simple_tag
def waiting(jobs: dict[State, int]) -> str:
    """Count the jobs that wait for a time, an activation or a retry."""
    return number(sum(jobs[state] for state in (State.SCHEDULED, State.PENDING, State.RETRYABLE)))


@register.simple_tag
def count_link(queue: QueueStats, state: str) -> SafeString:
    """Show a queue's jobs in a state as a table cell that leads to them."""
    count = queue.jobs[State(state)]
    if not count:
        return format_html('<td class="n quiet">{}</td>', 0)
    query = urlencode({"state": state, "queue": queue.name})
    return format_html(
        '<td class="n"><a href="{}?{}">{}</a></td>',
        reverse("ojs_console:jobs"),
        query,
        number(count),
    )


@register.simple_tag
def worker_badge(worker: WorkerRow) -> SafeString:
    """Show how a worker is, the gravest fact first."""
    if worker.stopped_at:
        return badge("cancelled", "stopped")
    if worker.dead_at:
        return badge("discarded", "dead")
    if worker.is_silent:
        return badge("retryable", "silent")
    standing = Standing(max(worker.reported, worker.directive))
    name = standing.name.lower()
    return badge("completed" if standing is Standing.RUNNING else "paused", name)
