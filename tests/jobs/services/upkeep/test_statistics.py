"""The loop `statistics` analyzes a table right after a burst, before autovacuum does."""

import pytest
from django.db import connection, transaction

from jobs.loops import CORE
from jobs.models import Ready
from jobs.services.upkeep.reset import reset
from jobs.services.upkeep.statistics import refresh_statistics
from tests.concurrency import threads
from tests.factories import stored

pytestmark = pytest.mark.usefixtures("store", "never_analyzed")


@pytest.fixture
def never_analyzed(store: None) -> None:
    """Reset the tables to new files: an emptied table keeps its old statistics."""
    reset()


def analyze() -> None:
    """Analyze as autovacuum would."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ojs_job")


def flush() -> None:
    """Flush this session's statistics, which PostgreSQL otherwise does once a second."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT 1")


def believed(table: str) -> int:
    """Return the planner's estimate of the rows in a table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = %s", [table])
        return int(cursor.fetchone()[0])


def test_a_table_that_grew_is_analyzed_once() -> None:
    stored(2000)

    assert refresh_statistics() > 0
    assert believed("ojs_ready") == believed("ojs_job") == 2000
    assert refresh_statistics() == 0


def test_a_table_is_analyzed_anew_whose_rows_were_not_committed_when_it_last_was() -> None:
    stored(1)
    with threads(1) as start, transaction.atomic():
        stored(2000)
        start(analyze).result()  # it sees the pages of 2,000 rows, but one row
    assert believed("ojs_job") < 2000
    flush()

    assert refresh_statistics() > 0
    assert believed("ojs_job") == 2001
    assert refresh_statistics() == 0


def test_a_table_that_grew_a_little_is_left_alone() -> None:
    stored(2000)
    flush()  # rows that are reported after the look would be added to its result
    refresh_statistics()
    stored(500)

    assert refresh_statistics() == 0


def test_an_empty_store_is_left_alone() -> None:
    refresh_statistics()

    assert refresh_statistics() == 0
    assert not Ready.objects.exists()


def test_the_loops_have_it() -> None:
    assert refresh_statistics in {loop.run for loop in CORE}
