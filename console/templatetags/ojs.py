"""Filters and tags for the display of facts: states, times, durations, JSON."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import orjson
from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console import history, runbooks
from console.access import may
from console.act_button import act
from console.columns import COLUMNS, since
from console.failure_groups import Group
from console.filters import JobFilter
from console.history import text_of
from console.markdown import plain
from console.models import Operation
from console.sizes import filesizeformat
from console.times import NOTHING, age, average, clock, in_zone, local, span
from jobs.domain.access.caller import MAX_REASON
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from jobs.models import DEFAULT_TENANT, ConfigChange
from jobs.services.operate.queues import QueueStats
from jobs.services.workers.heartbeat import Standing
from jobs.services.workers.workers import WorkerRow
from ojs_tasks.installed import has_app

register = template.Library()
for of_time in (age, average, clock, local, in_zone, span):
    register.filter(of_time)
register.filter(plain)
register.filter(filesizeformat)  # instead of the filter of Django
register.simple_tag(runbooks.named, name="runbook_of")
register.simple_tag(act, takes_context=True)

# job states with the same colour as the states of operations
OPERATION_TONES = {
    "running": "active", "done": "completed", "stopped": "cancelled", "failed": "discarded",
}  # fmt: skip
LONGEST = 200  # characters of a fact in a table
CRON_REASONS = {
    "overlap_skip": "skipped: the previous run was live",
    "dst_skip": "skipped: the clock change left out this time",
    "duplicate": "skipped: an equal unique job exists",
    "dropped": "dropped by a middleware",
    "error": "failed: unexpected error",
}


@register.filter
def state(code: int) -> str:
    """Return the name of a state code."""
    return state_of(code).value


@register.simple_tag
def badge(name: str, text: str = "") -> SafeString:
    """Show a state; the stylesheet colours it, the word is always there."""
    return format_html('<span class="badge {}">{}</span>', name, text or name)


@register.filter
def number(value: int) -> str:
    """Show a count with digits in groups of three, as the sentences of findings do."""
    return f"{value:,}"


@register.filter
def facts(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the facts of an audit entry as names and texts, without unset ones."""
    return [
        (name.replace("_", " "), _said(value))
        for name, value in data.items()
        if value not in (None, "", [], {})
    ]


def _said(value: Any) -> str:
    """Write a value of JSON as text: lists by comma, members as `name value`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text}" for name, text in facts(value))
    if isinstance(value, list):
        mark = "; " if any(isinstance(one, Mapping) for one in value) else ", "
        return mark.join(_said(one) for one in value)
    return "none" if value is None else str(value)


@register.simple_tag
def share(part: float) -> str:
    """Show a fraction as percent, with one decimal."""
    return f"{100 * part:.1f} %"


@register.filter
def of(found: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key in a mapping, None if absent."""
    return found.get(key)


@register.filter
def value(found: Any) -> str:
    """Write a value of a configuration as text."""
    return text_of(found)


@register.filter
def history_address(change: ConfigChange) -> str:
    """Return the address of the history of the object of a change."""
    return history.link(change.kind, change.name, change.tenant)


@register.simple_tag(takes_context=True)
def history_link(
    context: Mapping[str, Any], kind: str, name: str = "", tenant: str | None = None
) -> SafeString | str:
    """Link to the history of an object, or of a kind, if the user may see it."""
    if not may(context["request"], "history.see"):
        return ""
    return format_html('<a class="button" href="{}">History</a>', history.link(kind, name, tenant))


@register.filter
def as_json(value: Any) -> str:
    """Write JSON for an attribute that a script reads."""
    return orjson.dumps(value).decode()


@register.simple_tag
def in_unit(value: float | None, unit: str) -> str:
    """Show a value of a chart: a duration if `unit` is ms, else a number."""
    if value is None:
        return NOTHING
    return span(value) if unit == "ms" else number(round(value))


@register.filter
def parsed(text: str | bytes | None) -> Any:
    """Parse stored JSON text."""
    return None if text is None else orjson.loads(text)


@register.filter
def pretty(value: Any) -> str:
    """Show indented JSON, from text or from values."""
    if value is None:
        return ""
    stored = orjson.loads(value) if isinstance(value, str | bytes) else value
    return orjson.dumps(stored, option=orjson.OPT_INDENT_2).decode()


@register.filter
def short(job_id: str) -> str:
    """Show the end of an id, in which neighbouring ids differ."""
    return f"…{job_id[-12:]}"


@register.filter
def percent(fraction: float | None) -> int:
    """Convert a fraction from 0 to 1 to whole percent."""
    return round((fraction or 0) * 100)


@register.filter
def parts(fraction: float) -> str:
    """Show a fraction as percent with three significant digits, for comparisons."""
    return f"{100 * fraction:.3g} %"


@register.simple_tag
def rate_between(rate: float, low: float, high: float, words: str = "") -> SafeString:
    """Show a rate as percent, and its interval in brackets with as many decimals."""
    decimals = 1 if high >= 0.01 else 3  # noqa: PLR2004 - intervals below 1 %
    said = [f"{100 * one:.{decimals}f}" for one in (rate, low, high)]
    return format_html('{} % <span class="quiet">({}{} to {} %)</span>', said[0], words, *said[1:])


@register.simple_tag
def share_bar(got: float | None, due: float | None) -> SafeString | str:
    """Show the share of a queue as a bar and in words, with a mark at its entitlement."""
    if got is None:
        return NOTHING
    mark = "" if due is None else format_html('<path d="M{} 0V10"/>', round(100 * due, 1))
    return format_html("{} {}", _bar(got, "share", mark), parts(got))


@register.simple_tag
def use_bar(used: float) -> SafeString:
    """Show the used part of a bound as a bar, beside its numbers."""
    return _bar(min(1, used), "share full" if used >= 1 else "share")


def _bar(part: float, name: str, mark: str = "") -> SafeString:
    return format_html(
        '<svg class="{}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="all" width="100" height="10"/><rect width="{}" height="10"/>{}</svg>',
        name,
        round(100 * part, 1),
        mark,
    )


@register.simple_tag
def band(low: float, high: float, rate: float, bound: float | None, most: float) -> SafeString:
    """Show a rate within its interval and a mark at its bound, on a scale from 0 to `most`."""
    drawn = [round(100 * one / most, 1) for one in (low, high - low, rate)]
    is_over = bound is not None and rate > bound
    return format_html(
        '<svg class="{}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="all" width="100" height="10"/><rect x="{}" width="{}" height="10"/>'
        '<path class="rate" d="M{} 0V10"/>{}</svg>',
        "share band full" if is_over else "share band",
        *drawn,
        "" if bound is None else format_html('<path d="M{} 0V10"/>', round(100 * bound / most, 1)),
    )


@register.simple_tag
def pool_link(name: str | None) -> SafeString | str:
    """Show the pool of a worker or job as a link to its page."""
    if not name:
        return NOTHING
    if not has_app("scheduling"):
        return name
    return format_html('<a href="{}">{}</a>', reverse("ojs_console:pool", args=[name]), name)


@register.filter
def tenant(name: str | None) -> SafeString | str:
    """Show a tenant as a link to its page; words for the default tenant."""
    if not name:
        return NOTHING
    if name == DEFAULT_TENANT:
        return format_html('<span class="quiet">{}</span>', tenant_name(name))
    if not has_app("tenancy"):
        return name
    return format_html('<a href="{}">{}</a>', reverse("ojs_console:tenant", args=[name]), name)


@register.filter
def tenant_name(name: str) -> str:
    """Show a tenant's id without a link; words for the default tenant."""
    return "no tenant" if name == DEFAULT_TENANT else name


@register.filter
def rate(per_minute: float) -> str:
    """Show a rate per minute."""
    return number(round(per_minute)) if per_minute >= 10 or not per_minute else f"{per_minute:.1f}"  # noqa: PLR2004 - two digits


@register.simple_tag
def tenant_tile(tenant_id: str, state: State, count: int) -> SafeString:
    """Show the number of a tenant's jobs in a state as a tile that links to them."""
    return format_html(
        '<a class="tile {}" href="{}?{}"><strong>{}</strong>{}</a>',
        state.value,
        reverse("ojs_console:jobs"),
        urlencode({"state": state.value, "tenant": tenant_id}),
        number(count),
        state.value,
    )


@register.filter
def cron_reason(code: str | None) -> str:
    """Say why an occurrence of a schedule made no job."""
    return CRON_REASONS.get(code or "", (code or "").replace("_", " "))


@register.filter
def joined(names: Any) -> str:
    """Show a list of names."""
    return ", ".join(map(str, names)) if isinstance(names, list) else str(names)


@register.filter
def lines(text: Any) -> str:
    """Show a backtrace, stored as text or as lines."""
    return "\n".join(map(str, text)) if isinstance(text, list) else str(text)


@register.filter
def newest_first(values: list[Any] | None) -> list[Any]:
    """Reverse a history."""
    return list(reversed(values or []))


@register.filter
def words(text: str) -> list[str]:
    """Split a constant list of names."""
    return text.split()


@register.filter
def member(holder: object, name: str) -> Any:
    """Read a named attribute."""
    return getattr(holder, name)


@register.simple_tag
def waiting(jobs: dict[State, int]) -> str:
    """Count the jobs that wait for a time, an activation or a retry."""
    return number(sum(jobs[state] for state in (State.SCHEDULED, State.PENDING, State.RETRYABLE)))


@register.simple_tag
def count_link(queue: QueueStats, state: str, tenant: str = "") -> SafeString:
    """Show the number of a queue's jobs in a state as a table cell that links to them."""
    count = queue.jobs[State(state)]
    if not count:
        return format_html('<td class="n quiet">{}</td>', 0)
    query = urlencode(
        {"state": state, "queue": queue.name} | ({"tenant": tenant} if tenant else {})
    )
    return format_html(
        '<td class="n"><a href="{}?{}">{}</a></td>',
        reverse("ojs_console:jobs"),
        query,
        number(count),
    )


@register.simple_tag
def worker_badge(worker: WorkerRow) -> SafeString:
    """Show the state of a worker, the most serious fact first."""
    return badge(*worker_standing(worker))


def worker_standing(worker: WorkerRow) -> tuple[str, str]:
    """Return the colour and the word of the state of a worker."""
    if worker.stopped_at:
        return "cancelled", "stopped"
    if worker.dead_at:
        return "discarded", "dead"
    if worker.is_silent:
        return "retryable", "silent"
    standing = Standing(max(worker.reported, worker.directive))
    return "completed" if standing is Standing.RUNNING else "paused", standing.name.lower()


@register.filter
def minus(value: int, other: int) -> int:
    """Subtract `other` from `value`."""
    return value - other


@register.filter
def whole(value: float) -> int:
    """Round to a whole number."""
    return round(value)


@register.simple_tag
def cell(job: Job, name: str) -> SafeString:
    """Show one fact of a job as a table cell."""
    column = COLUMNS[name]
    kind = "n" if column.is_number else "line" if column.is_line else ""
    return format_html(
        "<td{}>{}</td>", format_html(' class="{}"', kind) if kind else "", _fact(job, name)
    )


def _fact(job: Job, name: str) -> SafeString | str:
    value = COLUMNS[name].value(job)
    if value is None:
        return tenant(DEFAULT_TENANT) if name == "tenant" else NOTHING
    if name in SHOWN_AS:
        return SHOWN_AS[name](job, value)
    if isinstance(value, datetime):
        return clock(value)
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _since(job: Job, _at: datetime) -> SafeString | str:
    step = since(job)
    return format_html("{} {}", step[0], clock(step[1])) if step else NOTHING


SHOWN_AS: dict[str, Callable[[Job, Any], SafeString | str]] = {
    "state": lambda _job, value: badge(value),
    "tenant": lambda _job, value: tenant(value),
    "attempt": lambda job, value: format_html(
        '{}<span class="quiet">/{}</span>', value, job.max_attempts
    ),
    "since": _since,
}


@register.inclusion_tag("ojs/console/_reason.html", takes_context=True)
def reason_field(context: Mapping[str, Any], **given: Any) -> dict[str, Any]:
    """Show the field of the reason.

    `given` may have a label, a `hint` inside the field, a `value`, and whether it `is_needed`.
    """
    request = context.get("request")
    sent = request.POST.get("reason", "") if request else ""
    return {"label": "Reason, for the audit log", "most": MAX_REASON, "value": sent, **given}


@register.simple_tag
def operation_badge(operation: Operation) -> SafeString:
    """Show the state of an operation."""
    is_stopping = operation.is_stopping and operation.state == "running"
    return badge(OPERATION_TONES[operation.state], "stopping" if is_stopping else operation.state)


@register.filter
def scope(operation: Operation) -> str:
    """Describe the jobs of an operation by its filter."""
    named = [
        "dead letter" if name == "dead" else f"{name} {value}"
        for name, value in operation.wanted.items()
    ]
    return ", ".join(named) or "all jobs"


@register.simple_tag
def group_query(wanted: JobFilter, group: Group) -> str:
    """Return the query string of one group within the filter."""
    return replace(wanted, fingerprint=group.fingerprint, after="").link()
