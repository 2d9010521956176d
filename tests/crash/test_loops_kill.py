"""`kill -9` of the processes that run the loops, in the middle of a large backlog."""

import signal
import subprocess
from typing import Any

import pytest
from django.db import connection

from jobs import queries
from jobs.domain.record.events import Kind
from jobs.domain.states import CODES, State
from jobs.models import Event, Finished, Later
from tests.asserts import removed_counts
from tests.crash.conftest import Run
from tests.processes import DEADLINE_S, until

pytestmark = [pytest.mark.usefixtures("store"), pytest.mark.xdist_group("crash"), pytest.mark.long]

JOBS = 40_000
KILLS = 2

FILL = """
INSERT INTO ojs_queue (name) VALUES ('crash');
WITH key AS (
    INSERT INTO ojs_lane_key (queue, priority, tenant) VALUES ('crash', 0, '_default')
    RETURNING id, queue, priority, tenant
)
INSERT INTO ojs_lane (id, queue, priority, tenant) SELECT id, queue, priority, tenant FROM key;
INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                     max_attempts, timeout_ms, created_at, attempt, state, finished_at, expires_at)
SELECT uuidv7(), 'crash.test', 'crash', '_default', (SELECT id FROM ojs_lane), 0, false, '[]', '{}',
       '{}', 3, 1000, now(), 0, %(state)s::smallint, %(ended)s::timestamptz,
       %(expires)s::timestamptz
  FROM generate_series(1, %(jobs)s);
"""
TELL = """
INSERT INTO ojs_event (kind, job_id, queue, type, tenant, to_state, attempt)
SELECT 100, id, queue, type, tenant, coalesce(state, 1), 0 FROM ojs_job;
"""
LATER = """
INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
SELECT id, 1, now(), lane_id, 0, expires_at FROM ojs_job;
"""
FINISHED = """
INSERT INTO ojs_finished (queue, kind, finished_at, id)
SELECT queue, state, finished_at, id FROM ojs_job;
"""


def fill(narrow: str, **facts: Any) -> None:
    """Store jobs and their narrow rows in one transaction."""
    known: dict[str, Any] = {"jobs": JOBS, "state": None, "ended": None, "expires": None, **facts}
    with connection.cursor() as cursor:
        for text in (FILL + TELL + narrow).split(";\n"):
            if text.strip():
                used = {name: value for name, value in known.items() if f"%({name})s" in text}
                cursor.execute(text, used or None)
        cursor.execute("ANALYZE")


def run_and_kill(processes: Run, url: str, done: str, wanted: int) -> None:
    """Run two copies of the loops, kill both repeatedly, and let two new copies finish."""

    def number() -> int:
        with connection.cursor() as cursor:
            cursor.execute(done)
            return int(cursor.fetchone()[0])

    for turn in range(KILLS):
        copies = [start_loops(processes, url) for _ in range(2)]
        part = wanted * (turn + 1) // (KILLS + 2)
        until(lambda part=part: number() >= part, "the loops' work")  # type: ignore[misc]
        for copy in copies:
            copy.send_signal(signal.SIGKILL)
            copy.wait(DEADLINE_S)
    for _ in range(2):
        start_loops(processes, url)
    until(lambda: number() >= wanted, "the rest of the work")
    assert number() == wanted


def start_loops(processes: Run, url: str) -> subprocess.Popen[bytes]:
    """Start one copy of the loops; the retention of a job is over as soon as it ends."""
    return processes(
        url, "manage.py", "runworker", "--no-handlers", OJS_RETENTION_COMPLETED="PT0.001S"
    )


def test_every_due_job_is_promoted_once(processes: Run, database_url: str) -> None:
    fill(LATER)

    run_and_kill(processes, database_url, "SELECT count(*) FROM ojs_ready", JOBS)

    assert count_events(Kind.ENQUEUED) == (JOBS, JOBS)
    assert not Later.objects.exists()
    assert_counted_as(State.AVAILABLE, JOBS)


def test_every_expired_job_is_discarded_once(processes: Run, database_url: str) -> None:
    fill(LATER, expires=queries.now())

    run_and_kill(processes, database_url, "SELECT count(*) FROM ojs_finished", JOBS)

    assert count_events(Kind.EXPIRED) == (JOBS, JOBS)
    assert not Later.objects.exists()
    assert_counted_as(State.DISCARDED, JOBS)


def test_every_job_that_outlived_its_retention_is_removed_once(
    processes: Run, database_url: str
) -> None:
    fill(FINISHED, state=CODES[State.COMPLETED], ended=queries.now())

    gone = f"SELECT {JOBS} - count(*) FROM ojs_job"  # noqa: S608 - a constant
    run_and_kill(processes, database_url, gone, JOBS)

    assert sum(removed_counts()) == JOBS
    assert not Finished.objects.exists()
    assert_counted_as(State.COMPLETED, 0)


def count_events(kind: Kind) -> tuple[int, int]:
    """Return the number of events of a kind, and the number of their jobs."""
    events = Event.objects.filter(kind=kind)
    return events.count(), events.values("job_id").distinct().count()


def assert_counted_as(state: State, number: int) -> None:
    """Assert that the counts have this number of jobs in this state, and no others."""
    counts = {code: n for code, n in queries.depths()["crash"].items() if n}
    assert counts == ({CODES[state]: number} if number else {})
