"""Rows that statements of tenancy read at volume: none reads a growing table completely.

Both for plans made for these parameters and for generic plans.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs.services.upkeep.reset import reset
from tenancy import queries
from tests.jobs.sql.test_plans import CUSTOM, GENERIC, GROWING, set_mode
from tests.jobs.sql.volume import SHAPES, analyze, load, touched_by

pytestmark = pytest.mark.xdist_group("plans of tenants")

OURS = {"ojs_tenant", "ojs_tenant_enqueued", "ojs_tenant_depth", "ojs_tenant_period"}
MANY = """
INSERT INTO ojs_tenant (id, state, quota_mode, source)
SELECT 't' || n, 'active', 'hard', 'auto' FROM generate_series(0, 19999) AS n;
INSERT INTO ojs_tenant_enqueued (tenant, slot, at, jobs)
SELECT 't' || n, now() - s * interval '1 second', now() - s * interval '1 second', 1
  FROM generate_series(0, 1999) AS n, generate_series(1, 20) AS s;
INSERT INTO ojs_tenant_depth (tenant, queue, state, jobs)
SELECT 't' || n, 'q' || q, s, 1
  FROM generate_series(1000, 1999) AS n, generate_series(0, 9) AS q, generate_series(1, 8) AS s;
INSERT INTO ojs_tenant_period (tenant, span_s, at, queue, enqueued, started, completed, failed,
                               wait_ms, run_ms)
SELECT 't' || n, 60, now() - s * interval '1 minute', 'q0', 1, 1, 1, 0, 1, 1
  FROM generate_series(1000, 1099) AS n, generate_series(10, 300) AS s;
INSERT INTO ojs_tenant_period (tenant, span_s, at, queue, enqueued, started, completed, failed,
                               wait_ms, run_ms)
SELECT 't' || n, 60, date_trunc('minute', now()) + s * interval '1 minute', 'q1', 1, 1, 1, 0, 1, 1
  FROM generate_series(1000, 1099) AS n, generate_series(-1, 0) AS s
"""
FEW = 1_500  # rows of a tenant in a hundred queues, and unaggregated events
CALLS: dict[str, tuple[Callable[[], object], int]] = {
    "alone": (queries.alone, 0),
    "count": (lambda: queries.count([{"tenant": "t5", "period_ms": 60_000, "jobs": 3}]), FEW),
    "create": (lambda: queries.create(["t5", "t-new"]), FEW),
    "lock": (lambda: queries.lock(["t5", "t6"]), FEW),
    "samples": (queries.samples, FEW * 2),
    "misplaced": (
        lambda: queries.misplaced(isolates=False, enabled=True, default="_default", most=100),
        25_000,  # reads all lanes once
    ),
    # lanes with jobs, and counts of these minutes, once every 15 seconds
    "survey": (lambda: queries.survey(5, least=100, most=200), 25_000),
    "started": (lambda: queries.started(5), 25_000),
    "shares": (lambda: queries.shares("t5", 5), 25_000),  # lanes with jobs, once
    "summaries": (lambda: queries.summaries(["t5", "t1005"]), FEW * 2),
    "queues": (lambda: queries.queues({"t5": ["q1", "new"], "t1005": ["q2"]}), FEW * 2),
    "usage": (lambda: queries.usage({"t5": 60_000, "t1005": None}), FEW * 2),
}
# tables that are as large as the active jobs or the lanes with jobs
SCANS = {
    "samples": {"ojs_lease"},
    "summaries": {"ojs_lease"},
    "shares": {"ojs_lane", "ojs_tenant"},
    "misplaced": {"ojs_lane", "ojs_tenant"},
    "survey": {"ojs_lane", "ojs_tenant"},
}


@pytest.fixture(scope="module")
def full(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Load a store of a hundred tenants in a hundred queues, and many more tenants."""
    with django_db_blocker.unblock():
        reset()
        load(SHAPES["10,000 lanes"])
        with connection.cursor() as cursor:
            cursor.execute(MANY)
        analyze()
        yield
        connection.close()  # drops the mode and the plans
        reset()


def test_every_statement_is_measured() -> None:
    files = {path.stem for path in (Path(queries.__file__).parent / "sql").glob("*.sql")}

    assert files == set(CALLS)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", [CUSTOM, GENERIC])
def test_a_statement_at_volume_reads_what_it_needs(name: str, mode: str) -> None:
    call, most = CALLS[name]
    set_mode(mode)

    read = touched_by(call)

    assert not read.scanned.keys() & ((GROWING | OURS) - SCANS.get(name, set())), read.scanned
    assert max(read.entries.values(), default=0) <= most, read.entries
