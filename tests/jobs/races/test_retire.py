"""A claim retires an empty lane, unless a producer is adding jobs to it."""

from collections.abc import Iterator

import pytest
from django.db import connection

from jobs.domain.dispatch.claim import FetchRequest
from jobs.services.dispatch.fetch import fetch
from jobs.services.upkeep.heal import heal
from tests.asserts import assert_store_is_sound
from tests.concurrency import threads, wait_until_blocked
from tests.factories import stored_ids

GATE = 20266999

# A claim that is about to lock the stripe of an emptied lane waits until the gate opens.
GATED = """
    CREATE SCHEMA gated;
    CREATE FUNCTION gated.pg_try_advisory_xact_lock(a int, b int) RETURNS boolean
    LANGUAGE plpgsql AS $$
    BEGIN
        IF a = 20266603 THEN
            PERFORM pg_catalog.pg_advisory_lock(20266999);
            PERFORM pg_catalog.pg_advisory_unlock(20266999);
        END IF;
        RETURN pg_catalog.pg_try_advisory_xact_lock(a, b);
    END $$;
"""


@pytest.fixture
def gated(store: None) -> Iterator[None]:
    """Create the gate in the database."""
    with connection.cursor() as cursor:
        cursor.execute(GATED)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA gated CASCADE")


def claim_through_the_gate() -> list[str]:
    """Fetch more jobs than exist, on a connection that finds the gate before the function."""
    with connection.cursor() as cursor:
        cursor.execute("SET search_path TO gated, pg_catalog, public")
    return [job.id for job in fetch(FetchRequest(("q",), 10)).jobs]


@pytest.mark.usefixtures("gated")
def test_a_job_that_is_committed_while_its_lane_is_about_to_leave_is_offered() -> None:
    (first,) = stored_ids(1, queue="q")
    with connection.cursor() as cursor, threads(1) as start:
        cursor.execute("SELECT pg_advisory_lock(%s)", [GATE])
        try:
            claimed = start(claim_through_the_gate)
            wait_until_blocked()
            (second,) = stored_ids(1, queue="q")
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [GATE])
        got = claimed.result()

    assert [heal(), heal()] == [0, 0]
    got += [job.id for job in fetch(FetchRequest(("q",), 10)).jobs]
    assert got == [first, second]
    assert_store_is_sound()
