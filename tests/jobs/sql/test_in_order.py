"""The reads of a claim where tenants are served in order: 20,000 jobs of 2,000 tenants."""

from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs import queries
from jobs.domain.dispatch.claim import ClaimPlan
from jobs.services.upkeep.reset import reset
from tests.concurrency import wait_until_old_rows_are_dead
from tests.jobs.sql.volume import analyze, touched_by

pytestmark = pytest.mark.xdist_group("plans of claims in order")

TENANTS, JOBS = 2_000, 20_000
STORE = """
INSERT INTO ojs_queue (name) VALUES ('q');
INSERT INTO ojs_lane_key (id, queue, priority, tenant)
SELECT 1000000 + n, 'q', 0, 't' || n FROM generate_series(0, %(tenants)s - 1) AS n;
INSERT INTO ojs_lane (id, queue, priority, tenant, active, ordered)
SELECT 1000000 + n, 'q', 0, 't' || n, true, true FROM generate_series(0, %(tenants)s - 1) AS n;
INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                     max_attempts, timeout_ms, created_at, attempt, enqueued_at)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'volume.type', 'q',
       't' || n %% %(tenants)s, 1000000 + n %% %(tenants)s, 0, false, '[]', '{}', '{}', 3, 1000,
       now(), 0, now()
  FROM generate_series(0, %(jobs)s - 1) AS n;
INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at)
SELECT j.id, j.lane_id, 0, j.enqueued_at FROM ojs_job AS j ORDER BY j.id;
UPDATE ojs_lane AS l SET vt = (SELECT min(r.seq) FROM ojs_ready AS r WHERE r.lane_id = l.id)
"""


@pytest.fixture(scope="module")
def full(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Load the jobs of a queue whose tenants do not share."""
    with django_db_blocker.unblock():
        reset()
        with connection.cursor() as cursor:
            for text in STORE.split(";\n"):
                facts = {"tenants": TENANTS, "jobs": JOBS}
                used = {name: n for name, n in facts.items() if f"%({name})s" in text}
                cursor.execute(text, used or None)
        analyze()
        yield
        reset()


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(("number", "most"), [(1, 60), (50, 900)])
def test_a_claim_in_order_reads_no_more_than_its_jobs_need(number: int, most: int) -> None:
    plan = ClaimPlan(("q",), number)

    def claim() -> None:
        found = queries.claim(plan, queries.Claimer(), 1000, queries.Hints())
        assert len(found.jobs) == number

    wait_until_old_rows_are_dead()
    claim()
    wait_until_old_rows_are_dead()
    read = touched_by(claim)

    assert not read.scanned.keys() & {"ojs_lane", "ojs_ready", "ojs_job"}, read.scanned
    assert max(read.entries.values()) <= most, read.entries
