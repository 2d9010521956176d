"""What the pages read at volume: no table that grows from end to end, no index past its limit."""

from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from console import queries, tenants
from console.filters import JobFilter, dead_letters, jobs
from console.pools import PoolLine, detail
from jobs.domain.states import State
from jobs.models import Lease
from jobs.services import queues
from jobs.services.audit import done_to
from jobs.services.reset import reset
from jobs.services.workers import WorkerFilter, workers
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pools
from tenancy.services.watch import survey
from tests.jobs.sql.test_plans import GROWING
from tests.jobs.sql.volume import LEASE, SHAPES, analyze, job_id, load, touched_by

pytestmark = pytest.mark.xdist_group("plans of console")

POOL = {
    "queues": {f"q{n}": n + 1 for n in range(20)}, "strategy": "weighted", "concurrency": 100,
    "starvation_prevention": {"min_dispatch_ratio": 0.01},
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
LOOKED = 300  # rows a narrowed search may read here; the pages allow more
MOST = 7_000  # index entries: a page of each of the hundred queues where none was chosen

SEARCHES = {
    f"{state or 'any'} {narrowed}": JobFilter(state, **{narrowed: value} if narrowed else {})
    for state in ("", *State)
    for narrowed, value in (
        ("", ""), ("queue", "q0"), ("type", "volume.*"), ("type", "none"), ("tenant", "t0"),
    )
}  # fmt: skip
CALLS: dict[str, Callable[[], object]] = {
    **{name: lambda wanted=wanted: jobs(wanted) for name, wanted in SEARCHES.items()},  # type: ignore[misc]  # the default binds
    "dead letter": lambda: dead_letters(JobFilter()),
    "dead letter of an error": lambda: dead_letters(JobFilter(error_type="Broken")),
    "failures": lambda: queries.failures(8),
    "hour": queries.hour,
    "queues": lambda: queues.all_stats(limit=20),
    "pools": lambda: pools.page(limit=50, offset=0),
    "pool": lambda: detail(PoolLine(pools.find("p"))),
    "workers of a pool": lambda: workers(WorkerFilter(pool="p"), limit=100),
    "workers": lambda: workers(WorkerFilter(), limit=50),
    "tenants": lambda: tenants.page(tenants.TenantFilter()),
    "tenants by id": lambda: tenants.page(tenants.TenantFilter(sort="id", name="t5")),
    "tenants that are loud": lambda: tenants.page(tenants.TenantFilter(loud="1")),
    "tenants that match": lambda: tenants.page(tenants.TenantFilter(state="active")),
    "tenants further": lambda: tenants.page(tenants.TenantFilter(after="0~t5000")),
    "tenant": lambda: (tenants.line_of("t5"), tenants.detail("t5")),
    "tenant's hour": lambda: queries.tenant_hour("t5"),
    "tenant's audit": lambda: done_to("t5", "tenant", limit=20),
}
# those of a page, in a hundred queues each; a search by name, besides, walks over the tenants
MAY_READ = {"tenants by id": 25_000}
MAY_SCAN = {name: {"ojs_lease"} for name in CALLS if name.startswith("tenant")}


@pytest.fixture(scope="module", params=["1 lane", "10,000 lanes"])
def size(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[str]:
    """Load a store."""
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
    """Plan for these parameters, or for any."""
    monkeypatch.setattr("console.filters.LOOKED_WIDE", LOOKED)
    monkeypatch.setattr("console.filters.LOOKED_NARROW", LOOKED)
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


def test_a_page_goes_on_where_the_last_one_ended(plans: str) -> None:
    """The next page costs what the first did: nothing before its place is read again."""
    for state in ("", "available", "completed"):
        wanted = JobFilter(state, queue="q0")
        page = jobs(wanted)
        assert page.jobs
        assert page.next
        after = JobFilter.read(dict(parse_qsl(wanted.link(page.next))))
        touched = touched_by(lambda after=after: jobs(after))  # type: ignore[misc]  # the default binds
        assert not GROWING & touched.scanned.keys()
        assert max(touched.entries.values()) <= MOST
