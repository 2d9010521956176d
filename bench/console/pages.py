"""The requests: every page of the console's URL table, filled in with values of the store.

Pages come from the table itself. So the benchmark fails for a new page that this file does not fill
in.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from urllib.parse import urlencode

from django.urls import URLPattern, reverse
from django.views import View

from bench.database import Database
from console import search
from console.filters import JobFilter
from console.urls import app_name, urlpatterns
from jobs.domain.states import State

NOTHING = "nothing-is-called-so"  # a filter without matches searches furthest
# values for the path of a page: each statement finds one, or several with spaces between
PLACES: Mapping[str, Mapping[str, str]] = {
    "job": {
        "available": "SELECT max(id::text) FROM ojs_ready",
        "active": "SELECT max(id::text) FROM ojs_lease",
        "scheduled": "SELECT max(id::text) FROM ojs_later WHERE kind = 1",
        "completed": "SELECT max(id::text) FROM ojs_finished WHERE kind = 6",
        "dead": "SELECT max(id::text) FROM ojs_finished WHERE kind = 9",
        "old": "SELECT min(id::text) FROM ojs_finished WHERE kind = 6",
    },
    "job_retry": {"dead": "SELECT max(id::text) FROM ojs_finished WHERE kind = 9"},
    # the job's own page answers, because no job is classified
    "job_decode": {"completed": "SELECT max(id::text) FROM ojs_finished WHERE kind = 6"},
    "job_arguments": {"completed": "SELECT max(id::text) FROM ojs_finished WHERE kind = 6"},
    "job_clone": {"completed": "SELECT max(id::text) FROM ojs_finished WHERE kind = 6"},
    "attention_rule": {"": "SELECT 'queue_late'"},
    "note": {"queue": "SELECT 'queue queue-1'", "absent": "SELECT 'type type-1'"},
    "procedure": {"": "SELECT 'retry-queue-1'"},
    "version": {"": "SELECT max(id) FROM ojs_config_change"},
    "finding": {"": "SELECT max(id::text) FROM ojs_attention_finding"},
    "queue": {"": "SELECT 'queue-1'"},
    "queue_remove": {"": "SELECT 'queue-1'"},
    "worker": {"": "SELECT worker_id FROM ojs_lease WHERE worker_id IS NOT NULL LIMIT 1"},
    "cron": {"": "SELECT max(id) FROM ojs_cron_entry"},
    "cron_edit": {"": "SELECT max(id) FROM ojs_cron_entry"},
    "pool": {"": "SELECT 'pool-0'"},
    "pool_edit": {"": "SELECT 'pool-0'"},
    "tenant": {"": "SELECT 'tenant-1'", "idle": "SELECT max(id) FROM ojs_tenant"},
    "tenant_edit": {"": "SELECT 'tenant-1'"},
    "tenant_remove": {"": "SELECT 'tenant-1'"},
    "versions_of_type": {"": "SELECT 'type-0'", "without": "SELECT type FROM ojs_total LIMIT 1"},
    "version_removal": {
        "": "SELECT 'type-0'",
        "without": "SELECT type FROM ojs_total LIMIT 1",
    },
    "version_touched": {"": "SELECT 'type-0'"},
    "rules_edit": {"": "SELECT 'type-0'"},
    "schema": {"": "SELECT 'type-0'"},
    "type": {"": "SELECT 'type-0'", "rare": "SELECT min(type) FROM ojs_total"},
    "delivery": {"": "SELECT max(id) FROM ojs_webhook_delivery"},
    "workflow": {
        "running": "SELECT max(id::text) FROM ojs_workflow WHERE state = 1",
        "completed": "SELECT max(id::text) FROM ojs_workflow WHERE state = 2",
    },
    "simulated": {"": "SELECT split_part(max(\"group\"), ':', 2) FROM django_q_task"},
    "operation": {"": "SELECT max(id) FROM ojs_console_operation"},
    "region_adopt": {"": "SELECT 'region-1'"},
    "region_forget": {"": "SELECT 'region-gone'"},
    "operation_file": {"": "SELECT max(id) FROM ojs_console_operation"},
}
# filters of a page: by field, the values, each alone
FIELDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "overview": {"range": ("15m", "6h", "24h", "7d", "30d", "90d")},
    "types": {
        "range": ("6h", "24h", "7d", "30d", "90d"), "name": ("type-1", NOTHING), "sort": ("rate",),
    },
    "queues": {"name": ("queue-1", NOTHING), "after": ("queue-2",)},
    "region_adopt": {"queue": ("queue-1", NOTHING)},
    "events": {
        "type": ("job.failed", "job.completed", "worker.stopped"), "queue": ("queue-1", NOTHING),
        "tenant": ("tenant-1", NOTHING), "page": ("200",),
    },
    "audit": {
        "action": ("queue.paused", NOTHING), "actor": ("console:user1", NOTHING),
        "target": ("queue-0", NOTHING), "tenant": ("tenant-1", NOTHING),
        "outcome": ("denied",), "since": ("2026-01-01T00:00",), "until": ("2026-01-01T00:00",),
        "before": ("1000",), "page": ("999",),
    },
    "history": {
        "kind": ("queue",), "kind=queue&name": ("queue-1", NOTHING),
        "actor": ("console:user1", NOTHING),
        "since": ("2026-01-01T00:00",), "until": ("2026-01-01T00:00",), "before": ("1000",),
    },
    "limits": {"name": ("upstream-2", NOTHING), "page": ("2",)},
    "workers": {"ended": ("1",), "name": ("worker-1", NOTHING), "after": ("0~worker-2",)},
    "crons": {"name": ("schedule-99", NOTHING), "after": ("schedule-5",)},
    "pools": {"page": ("2",)},
    "tenants": {
        "name": ("tenant-19", NOTHING), "state": ("suspended",), "noisy": ("1",), "sort": ("id",),
    },
    "versions": {"type": ("type-1", NOTHING), "page": ("2",)},
    "version_removal": {"remove": ("1.x", "<2.0", NOTHING)},
    "version_touched": {"ended": ("failed", "acked"), "version": ("2.0",), "page": ("2",)},
    "rules_new": {"type": (NOTHING,)},
    "schemas": {"type": ("type-1", NOTHING), "page": ("2",)},
    "workflows": {"state": ("running", "failed"), "tenant": ("tenant-1", NOTHING)},
    "webhooks": {"status": ("dead", "pending"), "subscription": ("subscription-1",)},
    "palette": {
        "q": ("queue-1", "pause queue-1", "01890000", NOTHING),
        "q=1&of": ("queue", "type", "tenant", "version", "error_type"),
    },
    "operation_new": {
        "verb": ("cancel", "retry", "delete", "export", "cancel&type=none", "retry&queue=queue-1"),
    },
}  # fmt: skip
NOT_ALONE = {"operation_new"}  # no page without a filter
FINGERPRINT = """
SELECT ojs_fingerprint(type, error) FROM ojs_job
 WHERE id = (SELECT id FROM ojs_finished WHERE kind = 9 LIMIT 1)
"""
# the same for `JobFilter`; the value of `after` comes from the next link of a page
OF_JOBS: Mapping[str, tuple[str, ...]] = {
    "state": tuple(State),
    "queue": ("queue-1", NOTHING),
    "type": ("type-1", "type-2*", NOTHING),
    "tenant": ("tenant-1", NOTHING),
    "version": ("2.0", NOTHING),
    "priority": ("5", "99"),
    "by": ("ended",),
    "zone": ("Europe/Berlin",),
    "since": ("2h", "6d"),
    "until": ("2h", "6d"),
    "args": ("customer4711", NOTHING),
    "meta": ("trace_id", NOTHING),
    "error": ("upstream", NOTHING),
    "error_type": ("Error3", NOTHING),
    "fingerprint": ("0123456789abcdef",),
    "dead": ("1",),
    "after": (),
}
LISTS_OF_JOBS = ("jobs", "dead_letter")


class UnknownPageError(Exception):
    """A page or a filter that this file does not cover."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: the page's name, a note on the variant, and its path."""

    page: str
    note: str
    path: str


def pages() -> list[URLPattern]:
    """Return the pages of the URL table that answer GET."""
    named = [one for one in urlpatterns if isinstance(one, URLPattern) and one.name]
    return [one for one in named if _is_read(getattr(one.callback, "view_class", None))]


def _is_read(view: type[View] | None) -> bool:
    if view is None:
        raise UnknownPageError("a page that is no class")
    return hasattr(view, "get") and "get" in view.http_method_names


def asks(database: Database) -> Iterator[Ask]:
    """Yield a request for each page, and for each filter of a list. Raises UnknownPageError."""
    for page in pages():
        name = str(page.name)
        if not page.pattern.converters:
            path = reverse(f"{app_name}:{name}")
            if name not in NOT_ALONE:
                yield Ask(name, "", path)
            yield from (Ask(name, note, f"{path}?{note}") for note in _filters(database, name))
        elif name not in PLACES:
            raise UnknownPageError(f"bench/console/pages.py has nothing for the page {name!r}")
        else:
            yield from _filled(database, page)


def _filled(database: Database, page: URLPattern) -> Iterator[Ask]:
    places = list(page.pattern.converters)
    name = str(page.name)
    for note, statement in PLACES[name].items():
        found = database.text(statement)
        if found is None:
            raise UnknownPageError(f"the store has nothing for the page {name!r} {note}")
        given = dict(zip(places, found.split(" "), strict=True))
        yield Ask(name, note, reverse(f"{app_name}:{name}", kwargs=given))


def _filters(database: Database, name: str) -> Iterator[str]:
    if name not in LISTS_OF_JOBS:
        for field, values in FIELDS.get(name, {}).items():
            yield from (f"{field}={value}" for value in values)
        return
    known = [one.name for one in fields(JobFilter)]
    if unknown := set(known) - set(OF_JOBS):
        raise UnknownPageError(f"bench/console/pages.py has no value for the filters {unknown}")
    for field in known:
        yield from (urlencode({field: value}) for value in OF_JOBS[field])
    yield urlencode({"fingerprint": database.text(FINGERPRINT)})
    yield from _second_pages(name)
    for state in State if name == "jobs" else ():  # by an index of the state, then row by row
        for more in ({"queue": "queue-1"}, {"type": NOTHING}, {"tenant": "tenant-1"}):
            yield urlencode({"state": state, **more})


def _second_pages(name: str) -> Iterator[str]:
    wanted = [JobFilter(dead="1")]
    if name == "jobs":
        wanted = [JobFilter(), *(JobFilter(state=state) for state in State)]
    for one in wanted:
        if following := search.page(one).next:
            yield one.link(following)
