"""Rows that claims and statements of versions read at volume: no growing table completely.

Both for plans made for these parameters and for generic plans.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs.domain.dispatch.claim import ClaimPlan, FetchRequest
from jobs.services.dispatch.fetch import fetch, planned
from jobs.services.lanes import configuration
from jobs.services.upkeep.reset import reset
from tests.jobs.sql.test_plans import CUSTOM, GENERIC, GROWING, set_mode
from tests.jobs.sql.volume import SHAPES, analyze, load, touched_by
from tests.spec import spec
from tests.versioning.wire import TYPE, push
from versioning import queries
from versioning.domain.canary_request import parse_wanted
from versioning.domain.declaration import declared
from versioning.services import routes, routing

pytestmark = pytest.mark.xdist_group("plans of versions")

HELD = 200_000  # jobs that no worker accepts; each lane belongs to another tenant
HELD_LANES = 100
FIRST = 50_000_000  # id of a lane
JOB = "00000000-0000-7000-8000-000000000000"
# version keys survive a reset, so these have a version that no other test uses
MANY = """
INSERT INTO ojs_version_route (id, type, major, minor)
SELECT 1000 + n, %(type)s, 900, n FROM generate_series(0, 99) AS n;
INSERT INTO ojs_lane_key (id, tenant, queue, priority, route)
SELECT %(first)s + n, 'h' || n, 'held', 0, 1000 + n %% 100
  FROM generate_series(0, %(lanes)s - 1) AS n;
INSERT INTO ojs_lane (id, queue, priority, tenant, route, active)
SELECT k.id, k.queue, k.priority, k.tenant, k.route, true FROM ojs_lane_key AS k
 WHERE k.id >= %(first)s;
INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at)
SELECT gen_random_uuid(), %(first)s + n %% %(lanes)s, 0, now()
  FROM generate_series(1, %(jobs)s) AS n;
INSERT INTO ojs_worker (id, queues, last_heartbeat_at)
SELECT 'x' || n, '["held"]', now() FROM generate_series(0, 999) AS n
"""
NOTED = queries.Noted([1000, 1001], 1_000)
DAY_MS = 86_400_000
SINCE = datetime(2026, 1, 1, 15, tzinfo=UTC)
OUTCOMES = """
INSERT INTO ojs_version_run (route, at, bucket, jobs)
SELECT 1000 + n % 100, timestamptz '2026-01-01' + n / 1000 * interval '1 minute', n / 100 % 10, 1
  FROM generate_series(0, 999999) AS n;
INSERT INTO ojs_version_touched (route, job_id, at, has_failed)
SELECT 1000 + n % 100, gen_random_uuid(), now() - n * interval '1 ms', n % 200 < 100
  FROM generate_series(0, 199999) AS n;
INSERT INTO ojs_version_outcome (route, at, acked, failed)
SELECT 1000 + n % 100, now() - n / 100 * interval '5 seconds', 1, 1
  FROM generate_series(0, 49999) AS n;
"""
CALLS: dict[str, tuple[Callable[[], object], int]] = {
    "undrawn_lanes": (lambda: queries.undrawn_lanes([1000, 1001], lane=0, limit=1), 25_000),
    "undrawn_lanes of none": (lambda: queries.undrawn_lanes([0], lane=0, limit=1), 25_000),
    "undrawn": (lambda: queries.undrawn(FIRST, seq=0, limit=500), 1_500),
    "undrawn_later": (lambda: queries.undrawn_later(0, JOB, limit=500), 2_000),
    "writers": (lambda: queries.writers(None), 100),
    "writers of some": (lambda: queries.writers(["1/1"]), 100),
    "begin_reading": (queries.begin_reading, 10),
    "outcomes": (
        lambda: queries.outcomes(["volume.type"], NOTED, slot_s=5, batch=1_000),
        5_000,
    ),
    "forget_runs": (lambda: queries.forget_runs(3_600_000, batch=500), 2_500),
    "forget_touched": (
        lambda: queries.forget_touched(NOTED, age_ms=DAY_MS, batch=500),
        25_000,  # the stored rows
    ),
    "runs": (lambda: queries.runs([1000, 1001], SINCE), 2_500),
    "touched": (
        lambda: queries.touched([1000, 1001], failed=None, limit=20, offset=0),
        2_500,
    ),
    "forget_outcomes": (lambda: queries.forget_outcomes(3_600_000, batch=500), 2_500),
    "overdue": (lambda: queries.overdue({1000: 0, 1001: 0}, lanes=100), 2_500),
    "declarations": (lambda: queries.declarations(["held"], 30_000), 2_500),
    "waiting": (lambda: queries.waiting([1000, 1001], most=1_000, lanes=100), 2_500),
    "active": (lambda: queries.active([1000, 1001]), 25_000),  # active jobs, once
    "left": (lambda: queries.left([1000, 1001], most=1_000, looked=100), 25_000),
    "unversioned": (lambda: queries.unversioned("volume.type", looked=100), 1_000),
    "dead": (lambda: queries.dead("volume.type", looked=100), 1_000),
    "sent": (lambda: queries.sent("volume.type", looked=100), 1_000),
}
SCANS = {"declarations": {"ojs_worker"}, "active": {"ojs_lease"}, "left": {"ojs_lease"}}
OURS = {
    "ojs_version_route",
    "ojs_version_held",
    "ojs_version_outcome",
    "ojs_version_run",
    "ojs_version_touched",
}


@pytest.fixture(scope="module")
def full(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Load a store of ten thousand lanes, and a queue with a held backlog."""
    with django_db_blocker.unblock():
        reset()
        load(SHAPES["10,000 lanes"])
        push("1.0", queue="held")
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM ojs_version_route WHERE id >= 1000")
            params: dict[str, int | str] = {
                "type": TYPE,
                "first": FIRST,
                "lanes": HELD_LANES,
                "jobs": HELD,
            }
            for statement in MANY.split(";"):
                cursor.execute(statement, params)
            cursor.execute(OUTCOMES)
            # the reader stands before unread events, in the part of the record that is full
            cursor.execute("INSERT INTO ojs_version_reader (id, stamp) VALUES (1, '480')")
        analyze()
        yield
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM ojs_version_route WHERE id >= 1000")
            cursor.execute("DELETE FROM ojs_version_apart")
        connection.close()  # drops the mode and the plans
        reset()


def test_every_statement_is_measured() -> None:
    files = {path.stem for path in (Path(queries.__file__).parent / "sql").glob("*.sql")}

    assert files == {name.partition(" ")[0] for name in CALLS}


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", [CUSTOM, GENERIC])
def test_a_statement_at_volume_reads_what_it_needs(name: str, mode: str) -> None:
    call, most = CALLS[name]
    set_mode(mode)

    read = touched_by(call)

    assert not read.scanned.keys() & ((GROWING | OURS) - SCANS.get(name, set())), read.scanned
    assert max(read.entries.values(), default=0) <= most, read.entries


def _request() -> FetchRequest:
    handlers = [{"type": TYPE, "versions": "<9.0"}]
    return FetchRequest(("held",), declaration=declared(handlers, is_exclusive=False))


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("mode", [CUSTOM, GENERIC])
@spec("VER-8.2-c")
def test_a_held_backlog_does_not_slow_a_compatible_fetch(mode: str) -> None:
    set_mode(mode)
    push("1.0", queue="held")
    wanted = _request()
    planned(wanted, 1)  # the process reads the version keys

    found: list[object] = []
    read = touched_by(lambda: found.extend(fetch(wanted).jobs))

    assert len(found) == 1
    assert not read.scanned.keys() & GROWING, read.scanned
    assert read.entries.get("ojs_ready_order", 0) <= 10, read.entries
    assert max(read.entries.values(), default=0) <= 2 * HELD_LANES, read.entries


@pytest.mark.usefixtures("full")
@spec("VER-8.2-c")
def test_nor_one_that_finds_nothing() -> None:
    while fetch(_request()).jobs:
        pass

    read = touched_by(lambda: fetch(_request()))

    assert not read.scanned.keys() & GROWING, read.scanned
    assert max(read.entries.values(), default=0) <= 3 * HELD_LANES, read.entries


DRAWN = """
UPDATE ojs_version_route SET major = NULL, minor = NULL, to_major = 900, to_minor = id - 1000
 WHERE id IN (1000, 1001);
UPDATE ojs_lane_key SET route = 1000 + route % 2 WHERE route >= 1000;
UPDATE ojs_lane SET route = 1000 + route % 2 WHERE route >= 1000;
"""


@pytest.mark.usefixtures("full")
@spec("contract 22.4")
def test_nor_does_one_that_rules_sent_to_a_version_nobody_accepts() -> None:
    with connection.cursor() as cursor:
        cursor.execute(DRAWN)
    rules = [{"version": "900.0", "weight": 1}, {"version": "900.1", "weight": 1}]
    routing.put(parse_wanted(TYPE, {"rules": rules}))
    analyze()
    push("1.0", queue="held")  # the rules do not fit it
    wanted = _request()
    planned(wanted, 1)

    found: list[object] = []
    read = touched_by(lambda: found.extend(fetch(wanted).jobs))

    assert len(found) == 1
    assert not read.scanned.keys() & GROWING, read.scanned
    assert read.entries.get("ojs_ready_order", 0) <= 10, read.entries
    assert max(read.entries.values(), default=0) <= 2 * HELD_LANES, read.entries


BARE = """
UPDATE ojs_version_route SET major = NULL, minor = NULL, to_major = NULL, to_minor = NULL
 WHERE id = 1000;
DELETE FROM ojs_version_apart;
INSERT INTO ojs_version_apart (type, route, is_done) VALUES (%(type)s, 1000, true);
UPDATE ojs_lane_key SET route = 1000 WHERE route >= 1000;
UPDATE ojs_lane SET route = 1000 WHERE route >= 1000
"""


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("mode", [CUSTOM, GENERIC])
@spec("D-VER-6")
def test_nor_does_one_of_jobs_without_a_version_that_a_worker_refuses(mode: str) -> None:
    with connection.cursor() as cursor:
        for statement in BARE.split(";"):
            cursor.execute(statement, {"type": TYPE})
        cursor.execute("DELETE FROM ojs_version_routing")
    configuration.change()
    routes.clear()
    analyze()
    set_mode(mode)
    push("1.0", queue="held")
    entry = {"type": TYPE, "versions": "<9.0", "accept_unversioned": False}
    wanted = FetchRequest(("held",), declaration=declared([entry], is_exclusive=False))
    planned(wanted, 1)

    found: list[object] = []
    read = touched_by(lambda: found.extend(fetch(wanted).jobs))

    assert len(found) == 1
    assert not read.scanned.keys() & GROWING, read.scanned
    assert read.entries.get("ojs_ready_order", 0) <= 10, read.entries
    assert max(read.entries.values(), default=0) <= 2 * HELD_LANES, read.entries


@spec("VER-1.2-a")
def test_workers_that_declare_nothing_are_planned_as_before() -> None:
    assert planned(FetchRequest(("q",)), 1) == ClaimPlan(
        ("q",), 1, rotation=None, config_version=planned(FetchRequest(("q",)), 1).config_version
    )
