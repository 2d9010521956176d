"""What the palette finds while an operator types, and the suggestions of filters.

Each kind asks the service of its page, within the tenant of the user. A kind is left out if the
user may not see its page.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from console import queries, queries_over_time, ranges
from console.access import may
from console.callers import caller_of
from console.filters import LONGEST
from console.search import bound
from console.templatetags.ojs import worker_standing
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest
from jobs.domain.states import state_of
from jobs.services.operate import queues
from jobs.services.read.find import Wanted, find
from jobs.services.read.show import DIGITS, beginning_with, declared
from jobs.services.workers.workers import WorkerFilter, workers
from ojs_tasks.installed import has_app

SIZE: Final = 5  # results of a kind
ACTED: Final = 3  # results of a kind that bring their actions
SUGGESTED: Final = 50
FAILED: Final = 1_000  # latest failed attempts that are read for types of errors
NEWEST: Final = 500  # jobs that are read for versions, and for the types of a tenant
RANGE: Final = ranges.BY_NAME["7d"]  # the activity of types
ID: Final = re.compile(r"[0-9a-f]{8}[0-9a-f]{0,24}")
ORDER: Final = re.compile(
    r"(?:pause|resume|quiet|terminate|suspend|run now|run)\s+"
    r"(?:(?:queue|worker|schedule|tenant)\s+)?(?=\S)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A result: a page of the console; `acts` is the template of its actions with its context."""

    kind: str
    name: str
    url: str
    fact: str = ""
    acts: tuple[str, Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A text, on behalf of a user."""

    text: str
    who: Caller
    limit: int = SIZE


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of results: its permit, the app that it needs, and the search."""

    permit: str
    find: Callable[[Asked], Iterable[Entry]]
    app: str = ""


def read_text(given: Mapping[str, str]) -> str:
    """Return the typed text of a query string. Raises InvalidRequest."""
    text = given.get("q", "").replace("\x00", "").strip()
    if len(text) > LONGEST:
        raise InvalidRequest.field("q", f"must have at most {LONGEST} characters", text[:50])
    return text


def results(text: str, request: HttpRequest) -> list[Entry]:
    """Return the results of all kinds that the user may see; a fixed number of statements.

    A text that begins with an action, such as `pause queue mail`, searches for the rest.
    """
    asked = Asked(ORDER.sub("", text, count=1) if ORDER.match(text) else text, caller_of(request))
    if not asked.text:
        return []
    return [
        entry
        for kind in KINDS
        if (not kind.app or has_app(kind.app)) and may(request, kind.permit)
        for entry in kind.find(asked)
    ]


def suggestions(field: str, text: str, request: HttpRequest) -> list[str]:
    """Return at most SUGGESTED values for a filter of the list of jobs. Raises InvalidRequest."""
    if field not in FIELDS:
        raise InvalidRequest.field("of", f"must be one of {', '.join(FIELDS)}", field[:50])
    asked = Asked(text.removesuffix("*"), caller_of(request), SUGGESTED)
    return FIELDS[field](asked)[:SUGGESTED]


def _page(name: str, *args: object, **query: str) -> str:
    path = reverse(f"ojs_console:{name}", args=args)
    return f"{path}?{urlencode(query)}" if query else path


def _jobs(asked: Asked) -> Iterator[Entry]:
    digits = asked.text.lower().replace("-", "")
    if len(digits) > DIGITS or not ID.fullmatch(digits):
        return
    for job in beginning_with(digits, asked.limit, asked.who.tenant):
        fact = f"{state_of(job.state).value}, {job.type}"
        yield Entry("Job", job.id, _page("job", job.id), fact)


def _queues(asked: Asked) -> Iterator[Entry]:
    for queue in queues.containing(asked.text, asked.limit, asked.who.tenant):
        fact = "paused" if queue.paused_at else ""
        acts = ("_queue_acts.html", {"queue": queue})
        yield Entry("Queue", queue.name, _page("queue", queue.name), fact, acts)


def _types(asked: Asked) -> Iterator[Entry]:
    rows = queries_over_time.chart_rows(ranges.MOST_ROWS, None)
    spell = RANGE.spell(timezone.now(), rows)
    for one in queries_over_time.types(spell, asked.text, "started", asked.limit):
        fact = f"{one.started:,} starts in 7 d"
        yield Entry("Type", one.type, _page("type", one.type), fact)


def _tenants(asked: Asked) -> Iterator[Entry]:
    from tenancy.domain.tenant import Standing  # noqa: PLC0415 - the app may be absent
    from tenancy.services import tenants  # noqa: PLC0415

    ids = _tenant_ids(asked)
    rows = {row.id: row for row in tenants.named(ids)}
    for one in (rows[found] for found in ids if found in rows):
        fact = "suspended" if one.state == Standing.SUSPENDED else one.name or ""
        acts = ("_tenant_switch.html", {"tenant": one})
        yield Entry("Tenant", one.id, _page("tenant", one.id), fact, acts)


def _tenant_ids(asked: Asked) -> list[str]:
    if asked.who.tenant is not None:
        own = asked.who.tenant
        return [own] if asked.text.lower() in own.lower() else []
    from console.tenants import LOOKED, MINUTES  # noqa: PLC0415 - the app may be absent
    from tenancy.conf import conf  # noqa: PLC0415

    found, _ = queries.tenants(
        queries.TenantSearch(containing=asked.text, by_id=True),
        default=conf().default, minutes=MINUTES, size=asked.limit, looked=LOOKED,
    )  # fmt: skip
    return [one.id for one in found]


def _workers(asked: Asked) -> Iterator[Entry]:
    for row in workers(WorkerFilter(containing=asked.text), limit=asked.limit):
        acts = ("_worker_acts.html", {"worker": row})
        yield Entry("Worker", row.id, _page("worker", row.id), worker_standing(row)[1], acts)


def _schedules(asked: Asked) -> Iterator[Entry]:
    from scheduling.services.cron_entries import entries  # noqa: PLC0415 - the app may be absent

    found = entries(asked.who).filter(name__icontains=asked.text).order_by("name", "id")
    for one in found[: asked.limit]:
        fact = one.expression if one.enabled else f"paused, {one.expression}"
        acts = ("_cron_acts.html", {"entry": one, "kind": "", "about": one.name})
        yield Entry("Schedule", one.name, _page("cron", one.pk), fact, acts)


def _workflows(asked: Asked) -> Iterator[Entry]:
    from workflows.domain.kinds import FLOW_NAMES, FlowState  # noqa: PLC0415 - may be absent
    from workflows.services.show import containing  # noqa: PLC0415

    for one in containing(asked.text, asked.limit, asked.who.tenant):
        fact = f"{FLOW_NAMES[FlowState(one.state)]}, …{str(one.id)[-12:]}"
        yield Entry("Workflow", one.name, _page("workflow", str(one.id)), fact)


# in the order of the results
KINDS: Final = (
    Kind("console.see", _jobs),
    Kind("console.see", _queues),
    Kind("types.see", _types),
    Kind("tenants.see", _tenants, "tenancy"),
    Kind("workers.see", _workers),
    Kind("schedules.see", _schedules, "scheduling"),
    Kind("workflows.see", _workflows, "workflows"),
)


def _names(find: Callable[[Asked], Iterable[Entry]]) -> Callable[[Asked], list[str]]:
    return lambda asked: [entry.name for entry in find(asked)]


def _types_of(asked: Asked) -> list[str]:
    """Return types with activity; of a tenant the types of its newest jobs."""
    if asked.who.tenant is None:
        return [entry.name for entry in _types(asked)]
    return _newest(asked, 0)


def _versions(asked: Asked) -> list[str]:
    return _newest(asked, 1)


def _newest(asked: Asked, part: int) -> list[str]:
    """Return types (part 0) or versions (1) of the newest jobs; two statements."""
    wanted = Wanted(tenant=asked.who.tenant)
    found = find(wanted, size=NEWEST, looked=max(NEWEST, bound(wanted)))
    return _sorted((one[part] for one in declared(found.ids)), asked.text)


def _error_types(asked: Asked) -> list[str]:
    failures = queries.failures(FAILED, asked.who.tenant)
    return _sorted((one.error_type for one in failures), asked.text)


def _sorted(names: Iterable[str | None], text: str) -> list[str]:
    wanted = text.lower()
    return sorted({name for name in names if name and wanted in name.lower()})


# filters with suggestions, by the names of `JobFilter`
FIELDS: Final[Mapping[str, Callable[[Asked], list[str]]]] = {
    "queue": _names(_queues),
    "type": _types_of,
    "tenant": _names(_tenants),
    "version": _versions,
    "error_type": _error_types,
}
