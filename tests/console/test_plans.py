"""The reads of the pages at volume: no full scan of a growing table, no index beyond its bound."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from urllib.parse import parse_qsl

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from console import marks, operations, queries, queries_over_time, ranges, tenants, walk
from console.failure_groups import groups
from console.filters import JobFilter
from console.pools import PoolLine, detail
from console.search import page as jobs
from jobs.domain.states import State
from jobs.models import Lease
from jobs.services.audit import audit
from jobs.services.audit.audit import done_to
from jobs.services.operate import bulk, queues
from jobs.services.upkeep.reset import reset
from jobs.services.workers.workers import WorkerFilter, WorkerPlace, workers
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pools
from tenancy.services.watch import survey
from tests.jobs.sql.test_plans import GROWING
from tests.jobs.sql.volume import FINISHED, LEASE, SHAPES, analyze, job_id, load, touched_by

pytestmark = pytest.mark.xdist_group("plans of console")

POOL = {
    "queues": {f"q{n}": n + 1 for n in range(20)}, "strategy": "weighted", "concurrency": 100,
    "starvation_prevention": {"min_dispatch_ratio": 0.01}, "tenant_fairness": {"scope": "pool"},
}  # fmt: skip
TENANTS = """
INSERT INTO ojs_tenant (id, state, quota_mode, source)
SELECT 't' || n, 'active', 'hard', 'auto' FROM generate_series(0, 9999) AS n ON CONFLICT DO NOTHING;
INSERT INTO ojs_tenant_depth (tenant, queue, state, jobs)
SELECT 't' || n, 'q' || q, s, 1
  FROM generate_series(0, 999) AS n, generate_series(0, 9) AS q, generate_series(1, 8) AS s;
INSERT INTO ojs_audit (actor, action, target, at, data)
SELECT 'console:u', 'tenant.configured', 't' || n, now(), '{}' FROM generate_series(0, 9999) AS n;
"""
NOW = datetime.now(UTC)
SINCE = datetime(2020, 1, 1, tzinfo=UTC)
LOOKED = 300  # rows that a narrowed search may read here; the pages allow more
MOST = 7_000  # index entries: one page of each of the hundred queues, if no queue was chosen

SEARCHES = {
    f"{state or 'any'} {narrowed}": JobFilter(state, **{narrowed: value} if narrowed else {})
    for state in ("", *State)
    for narrowed, value in (
        ("", ""),
        ("queue", "q0"),
        ("type", "volume.*"),
        ("type", "none"),
        ("tenant", "t0"),
        ("version", "2.*"),
        ("priority", "7"),
        ("since", "1d"),
        ("until", "1d"),
        ("args", "none"),
        ("meta", "none"),
        ("error", "none"),
        ("error_type", "none"),
        ("fingerprint", "none"),
    )
} | {
    f"{state or 'any'} that ended": JobFilter(state, by="ended", since="1h", until="1m")
    for state in ("", "completed", "cancelled", "discarded")
}
SLICED = {
    **{
        f"{state or 'any'} {name}": JobFilter(state, **{name: value})
        for state in ("", *State)
        for name, value in (("queue", "q0"), ("tenant", "t0"), ("args", "none"))
    },
    "dead": JobFilter(dead="1"), "dead of a group": JobFilter(dead="1", fingerprint="none"),
}  # fmt: skip
CALLS: dict[str, Callable[[], object]] = {
    **{name: lambda wanted=wanted: jobs(wanted) for name, wanted in SEARCHES.items()},  # type: ignore[misc]  # the default binds
    "dead letter": lambda: jobs(JobFilter(dead="1")),
    "dead letter of an error": lambda: jobs(JobFilter(dead="1", error_type="Broken")),
    "groups of errors": lambda: groups(JobFilter(dead="1"), timezone.now()),
    "groups of errors of a tenant": lambda: groups(JobFilter(tenant="t0"), timezone.now()),
    "spread": lambda: queries.spread([job_id(FINISHED + n) for n in range(500)]),
    **{
        f"slice of {verb} {name}": lambda verb=verb, asked=asked: one_slice(verb, asked)  # type: ignore[misc]  # the default binds
        for verb in operations.VERBS
        for name, asked in SLICED.items()
        if walk.states_of(verb, asked)
    },
    **{
        f"preview of {verb}": lambda verb=verb: walk.preview(verb, JobFilter(dead="1"))  # type: ignore[misc]  # the default binds
        for verb in ("retry", "delete", "export")
    },
    **{
        f"preview of {verb} of all": lambda verb=verb: walk.preview(verb, JobFilter())  # type: ignore[misc]  # the default binds
        for verb in operations.VERBS
    },
    "operations": lambda: operations.latest(None, 50),
    "operations of a tenant": lambda: operations.latest("t0", 50),
    "failures": lambda: queries.failures(8),
    "rows of a chart": lambda: queries_over_time.chart_rows(ranges.MOST_ROWS, None),
    "rows of a tenant's chart": lambda: queries_over_time.chart_rows(ranges.MOST_ROWS, "t5"),
    "types": lambda: queries_over_time.types(ranges.BY_NAME["7d"].spell(NOW), "", "rate", 100),
    "type": lambda: queries_over_time.type_history(ranges.BY_NAME["7d"].spell(NOW), "none"),
    "queues of a type": lambda: queries_over_time.type_queues(
        ranges.BY_NAME["7d"].spell(NOW), "volume.noop", 20
    ),
    "runs of a type": lambda: queries_over_time.type_runs("none", LOOKED),
    "errors of a type": lambda: queries_over_time.type_errors("none", LOOKED, 20),
    "marks": lambda: marks.read(ranges.BY_NAME["90d"].spell(NOW), marks.Subject(), ()),
    "marks of a type": lambda: marks.read(
        ranges.BY_NAME["90d"].spell(NOW), marks.Subject(type="volume.noop"), ()
    ),
    "failures of a tenant": lambda: queries.failures(8, "t0"),
    "a waiting job of a queue": lambda: queries.why_example(queues=["q0"]),
    "a waiting job of a tenant": lambda: queries.why_example(tenant="t5"),
    "a waiting job of a type": lambda: queries.why_example(job_type="none", lanes=200, looked=10),
    "jobs of a worker": lambda: queries.held("w0", 200),
    "audit": lambda: audit.page(audit.AuditFilter(), before=None, size=50),
    "audit of an actor": lambda: audit.page(
        audit.AuditFilter(actor="console:u", since=SINCE), before=9_000, size=50
    ),
    "audit of a target": lambda: audit.page(
        audit.AuditFilter(target="t5", outcome="success"), before=None, size=50
    ),
    "queues": lambda: queues.all_stats(limit=20),
    "queues further": lambda: queues.all_stats(limit=20, after="q5"),
    "pools": lambda: pools.page(limit=50, offset=0),
    "pool": lambda: detail(PoolLine(pools.find("p"))),
    "workers of a pool": lambda: workers(WorkerFilter(pool="p"), limit=100),
    "workers": lambda: workers(WorkerFilter(), limit=50),
    "workers further": lambda: workers(
        WorkerFilter(with_ended=True, containing="w1"), limit=50, after=WorkerPlace(0, "w15")
    ),
    "tenants": lambda: tenants.page(tenants.TenantFilter()),
    "tenants by id": lambda: tenants.page(tenants.TenantFilter(sort="id", name="t5")),
    "noisy tenants": lambda: tenants.page(tenants.TenantFilter(noisy="1")),
    "tenants that match": lambda: tenants.page(tenants.TenantFilter(state="active")),
    "tenants further": lambda: tenants.page(tenants.TenantFilter(after="0~t5000")),
    "tenant": lambda: (tenants.line_of("t5"), tenants.detail("t5")),
    "tenant's audit": lambda: done_to("t5", "tenant", limit=20),
}
# pages with other bounds, for a hundred queues; a search by name also walks the tenants
MAY_READ = {
    "tenants by id": 25_000,
    "pool": 11_000,  # the head of each lane whose tenants share over its queues
}
MAY_READ |= {name: 2 * MOST for name in CALLS if name.startswith("slice")}  # two slices
MAY_SCAN = {name: {"ojs_lease"} for name in CALLS if name.startswith("tenant")}


def one_slice(verb: str, asked: JobFilter) -> None:
    """Find the jobs of the first and the second slice of an operation."""
    states, place = walk.states_of(verb, asked), bulk.begin()
    _, following = walk.pick(asked, states, place)
    if following is not None:
        walk.pick(asked, states, following)


@pytest.fixture(
    scope="module", params=[pytest.param("1 lane", marks=pytest.mark.long), "10,000 lanes"]
)
def size(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[str]:
    """Load a store of one shape."""
    with django_db_blocker.unblock():
        reset()
        load(SHAPES[request.param])
        with connection.cursor() as cursor:
            cursor.execute(TENANTS)
        survey()
        pools.put(parse_pool("p", POOL))
        Lease.objects.filter(id__lt=job_id(LEASE + 50)).update(pool="p")
        analyze()
        yield request.param
        connection.close()
        reset()


@pytest.fixture(params=["force_custom_plan", "force_generic_plan"])
def plans(
    request: pytest.FixtureRequest, size: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Use plans for these parameters, or generic plans."""
    monkeypatch.setattr("console.search.LOOKED_WIDE", LOOKED)
    monkeypatch.setattr("console.search.LOOKED_NARROW", LOOKED)
    for name in ("LOOKED", "LOOKED_FOR_TEXT", "PREVIEWED"):
        monkeypatch.setattr(walk, name, LOOKED)
    monkeypatch.setattr(walk, "SLICE", 50)
    monkeypatch.setattr("console.failure_groups.LOOKED", LOOKED)
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute(f"SET plan_cache_mode = {request.param}")
    yield request.param
    connection.close()


def test_no_page_reads_a_growing_table_from_end_to_end(plans: str) -> None:
    wrong: dict[str, object] = {}
    for name, call in CALLS.items():
        touched = touched_by(call)
        scanned = (GROWING | {"ojs_tenant_depth"}) & touched.scanned.keys()
        scanned -= MAY_SCAN.get(name, set())
        most = MAY_READ.get(name, MOST)
        walked = {index: n for index, n in touched.entries.items() if n > most}
        if scanned or walked:
            wrong[name] = (scanned, walked)
    assert not wrong


def test_a_full_page_of_a_queue_is_found_at_a_glance(
    plans: str, size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search stops early if matches are frequent."""
    monkeypatch.setattr("console.search.LOOKED_NARROW", 9_000)
    monkeypatch.setattr("console.search.GLANCES", (100, 8_900))
    touched = touched_by(lambda: jobs(JobFilter("available", queue="q0")))
    # with a hundred queues, the matches of a page are further apart
    assert touched.entries["ojs_ready_pkey"] <= (200 if size == "1 lane" else 9_300)


def test_a_page_goes_on_where_the_last_one_ended(plans: str) -> None:
    """The next page costs as much as the first: nothing before its place is read again."""
    for state in ("", "available", "completed"):
        wanted = JobFilter(state, queue="q0")
        page = jobs(wanted)
        assert page.jobs
        assert page.next
        after = JobFilter.read(dict(parse_qsl(wanted.link(page.next))))
        touched = touched_by(lambda after=after: jobs(after))  # type: ignore[misc]  # the default binds
        assert not GROWING & touched.scanned.keys()
        assert max(touched.entries.values()) <= MOST
