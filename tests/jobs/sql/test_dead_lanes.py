"""The reads of loops after claims moved lanes thousands of times under a held snapshot: ADR 3.

Measured as in test_plans.py. Index entries of dead rows count, since each costs a look at its row.
"""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs import queries
from jobs.services.record import dispatches
from jobs.services.upkeep.heal import heal
from jobs.services.upkeep.reset import reset
from tests.jobs.sql.volume import analyze, touched_by

LANES, MOVES, FEW = 100, 50, 10

LOAD = """
INSERT INTO ojs_queue (name) VALUES ('a') ON CONFLICT DO NOTHING;
WITH key AS (
    INSERT INTO ojs_lane_key (queue, priority, tenant)
    SELECT 'a', 0, 't' || n FROM generate_series(1, 100) AS n
    RETURNING id, queue, priority, tenant
)
INSERT INTO ojs_lane (id, queue, priority, tenant, active)
SELECT id, queue, priority, tenant, true FROM key;
INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at)
SELECT gen_random_uuid(), l.id, 0, now() FROM ojs_lane AS l;
"""


def run(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text)


def move() -> None:
    """Move each lane as claims do, and replace the job that was taken."""
    for _ in range(MOVES):
        run("UPDATE ojs_lane SET vt = vt + 1")
        run(
            "WITH gone AS (DELETE FROM ojs_ready RETURNING lane_id)"
            " INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at)"
            " SELECT gen_random_uuid(), lane_id, 0, now() FROM gone"
        )


@pytest.fixture(scope="module")
def moved(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Hold a snapshot from before the lanes were moved."""
    with django_db_blocker.unblock():
        reset()
        run(LOAD)
        analyze()
        holder = connection.copy()
        with holder.cursor() as cursor:
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT count(*) FROM ojs_queue")
        try:
            move()
            yield
        finally:
            holder.close()
            reset()


LOOKS: dict[str, Callable[[], object]] = {
    "asleep": heal,
    "name_queues": queries.name_queues,
    "namespaces": lambda: dispatches.namespaces("", 1000),
}


@pytest.mark.usefixtures("moved")
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_loop_does_not_walk_over_what_claims_left_behind(look: Callable[[], object]) -> None:
    read = touched_by(look)

    assert not read.scanned.keys() & {"ojs_lane", "ojs_ready"}
    assert max(read.entries.values(), default=0) <= LANES + FEW, read.entries
