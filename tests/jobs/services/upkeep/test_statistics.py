"""The planner learns of a burst at once, not with autovacuum's next round."""

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
    """Start with new files: what an emptied table held before is still believed of it."""
    reset()


def analyze() -> None:
    """Analyze as autovacuum would."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ojs_job")


def flush() -> None:
    """Tell the statistics what this session has changed, which it does once a second else."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT 1")


def believed(table: str) -> int:
    """Return how many rows the planner takes a table for."""
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
        start(analyze).result()  # sees 2,000 rows' pages and one row
    assert believed("ojs_job") < 2000
    flush()

    assert refresh_statistics() > 0
    assert believed("ojs_job") == 2001
    assert refresh_statistics() == 0


def test_a_table_that_grew_a_little_is_left_alone() -> None:
    stored(2000)
    flush()  # what comes after the look would be counted on top of what it saw
    refresh_statistics()
    stored(500)

    assert refresh_statistics() == 0


def test_an_empty_store_is_left_alone() -> None:
    refresh_statistics()

    assert refresh_statistics() == 0
    assert not Ready.objects.exists()


def test_the_loops_have_it() -> None:
    assert refresh_statistics in {loop.run for loop in CORE}
