"""The reads of replication at volume: no full scan of a growing table.

The tests use plans made for these parameters, and generic plans.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from federation import queries
from federation.models import FederatedJob
from federation.queries import Key, OpenAdoption
from federation.services.replication.copies import copies
from federation.services.replication.merge import merge
from jobs.domain.wire.ids import new_id
from jobs.services.upkeep.reset import reset
from tests.federation.replication.rig import EU, LOCAL, NOON, federate, replica
from tests.jobs.sql.test_plans import CUSTOM, GENERIC, GROWING, set_mode
from tests.jobs.sql.volume import SHAPES, STAMPS, analyze, load, touched_by

pytestmark = pytest.mark.xdist_group("plans of federation")

OURS = {"ojs_federation_job", "ojs_federation_key"}
COPIES = 30_000
MANY = """
INSERT INTO ojs_federation_key (tenant, federation_id, job_id, created_at)
SELECT '_default', ojs_test_id(n), ojs_test_id(n), now() - n * interval '1 minute'
  FROM generate_series(1, 30000) AS n;
INSERT INTO ojs_federation_job (
       origin_region, job_id, tenant, federation_id, type, queue, state, priority, attempt,
       created_at, enqueued_at, completed_at, revision, winner, replicated_from, adopts_region,
       adopts_job, received_at)
SELECT (ARRAY['us', 'eu', 'ap'])[1 + n % 3], ojs_test_id(n), '_default', ojs_test_id(n - n % 3),
       't', 'q' || n % 100, CASE WHEN n % 10 < 3 THEN 'available' ELSE 'completed' END, 0, 0,
       now(), now() - n * interval '1 second',
       CASE WHEN n % 10 >= 3 THEN now() - n * interval '1 minute' END,
       n, n % 3 = 0, CASE WHEN n % 3 > 0 THEN (ARRAY['us', 'eu', 'ap'])[1 + n % 3] END,
       CASE WHEN n % 50 = 1 THEN 'us' END, CASE WHEN n % 50 = 1 THEN ojs_test_id(n - 1) END, now()
  FROM generate_series(1, 30000) AS n
"""
ID = """
CREATE FUNCTION ojs_test_id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS
$$ SELECT ('01912e4a-7b3c-7def-8a12-' || lpad(to_hex(n), 12, '0'))::uuid $$
"""
FEW = 600


def uuid(n: int) -> str:
    """Return the id of a copy; multiples of three are also ids of groups."""
    return f"01912e4a-7b3c-7def-8a12-{n:012x}"


def merged() -> None:
    """Merge revisions of existing copies, and of new copies."""
    known = [
        replica(origin_region=EU, job_id=uuid(n), federation_id=uuid(n - n % 3), revision=10**6,
                enqueued_at=NOON)
        for n in range(1, 91, 3)
    ]  # fmt: skip
    merge([*known, *(replica(federation_id=uuid(3 * n)) for n in range(30))], LOCAL)


ADOPTIONS = [OpenAdoption(EU, uuid(151), "_default", uuid(150), NOON, LOCAL, uuid(150), None)]
CALLS: dict[str, tuple[Callable[[], object], int]] = {
    "adoptable": (lambda: queries.adoptable(EU, queue=None, most=50), FEW),
    "adopted": (lambda: queries.adopted(EU, {uuid(n): new_id() for n in range(1, 91, 3)}), FEW),
    "alone": (queries.alone, 0),
    "copies": (lambda: copies(uuid(300), None), 25_000),
    "forget_copies": (lambda: queries.forget_copies(86_400_000, 100), FEW),
    "forget_keys": (lambda: queries.forget_keys(86_400_000, 100), FEW),
    "forget_region": (lambda: queries.forget_region(EU, 100), 2 * FEW),
    "note_lags": (lambda: queries.note_lags({EU: 5, "ap": 50}, 10), FEW),
    "note_minute": (lambda: queries.note_minute(EU, 5.0), FEW),
    "lags": (lambda: queries.lags([EU, "ap"], LOCAL, place=(STAMPS - 2, 0), most=100), FEW),
    "merge": (merged, 2 * FEW),
    "outgoing": (lambda: queries.outgoing(LOCAL, 200, batch=50, bytes_=10**6), FEW),
    "reserve": (
        lambda: queries.reserve(
            [Key("_default", one, new_id()) for one in (uuid(5), new_id())], 1000
        ),
        FEW,
    ),
    "correct_keys": (lambda: queries.correct_keys([Key("_default", uuid(5), None)]), FEW),
    "close_adoptions": (lambda: queries.close_adoptions(ADOPTIONS), FEW),
    "transitions": (lambda: queries.transitions(STAMPS // 2, 0, LOCAL, 100), 2 * FEW),
    "open_adoptions": (lambda: queries.open_adoptions(LOCAL, 50), FEW),
    "waiting": (lambda: queries.waiting(EU, after=uuid(0), queue=None, batch=50), FEW),
}


@pytest.fixture(scope="module")
def full(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Load a store, with as many copies and keys as jobs."""
    with django_db_blocker.unblock():
        reset()
        federate()
        load(SHAPES["10,000 lanes"])
        with connection.cursor() as cursor:
            cursor.execute(ID)
            cursor.execute(MANY)
        analyze()
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE ojs_federation_job, ojs_federation_key")
        yield
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION ojs_test_id")
        connection.close()  # with its mode and its plans
        reset()


def test_every_statement_is_measured() -> None:
    files = {path.stem for path in (Path(queries.__file__).parent / "sql").glob("*.sql")}

    assert files - CALLS.keys() == set()


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("mode", [CUSTOM, GENERIC])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_no_statement_reads_a_growing_table_whole(
    name: str, mode: str, django_db_blocker: DjangoDbBlocker
) -> None:
    call, most = CALLS[name]
    with django_db_blocker.unblock():
        assert FederatedJob.objects.count() >= COPIES - 1_000
        set_mode(mode)

        touched = touched_by(call)

    assert touched.scanned.keys() & (GROWING | OURS) == set()
    assert sum(touched.entries.values()) <= most, touched.entries
