"""The cost of 200,000 jobs for a claim that may start none of them. Spec: FS 4.4, contract 20.5.

Measured as in test_plans.py: by the index entries that the claim reads.
"""

from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs import queries
from jobs.domain.dispatch.claim import ClaimPlan, QueueRotation, Strategy
from jobs.models import Lane
from jobs.services.upkeep.reset import reset
from tests.concurrency import wait_until_old_rows_are_dead
from tests.factories import stored_ids
from tests.jobs.sql.volume import analyze, touched_by

LANES, JOBS, MARKED, FEW = 2_000, 100, 100, 250
FREE = -9  # the priority of the job that may start

# lanes without wide rows: a claim that takes one of their jobs fails
LOAD = """
INSERT INTO ojs_queue (name) VALUES ('a'), ('b') ON CONFLICT DO NOTHING;
INSERT INTO ojs_limit (id, kind, tenant, key, policy)
VALUES (9000000, 3, '*', 'full', '{"concurrency": 0, "on_limit": "wait"}');
WITH key AS (
    INSERT INTO ojs_lane_key (queue, priority, tenant)
    SELECT 'a', 0, 't' || n FROM generate_series(1, 2000) AS n
    RETURNING id, queue, priority, tenant
)
INSERT INTO ojs_lane (id, queue, priority, tenant, active, limits)
SELECT id, queue, priority, tenant, true, ARRAY[9000000] FROM key;
INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at)
SELECT gen_random_uuid(), l.id, 0, now() FROM ojs_lane AS l, generate_series(1, 100)
 WHERE l.queue = 'a';
"""
HOLD = {
    "marked": "UPDATE ojs_lane SET blocked_by = 9000000 WHERE queue = 'a' AND limits IS NOT NULL",
    "paused": "UPDATE ojs_lane SET paused = true WHERE queue = 'a' AND limits IS NOT NULL",
    "open": "UPDATE ojs_lane SET blocked_by = NULL, paused = false WHERE queue = 'a'",
}


def run(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text)


@pytest.fixture(scope="module")
def full(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Load the lanes."""
    with django_db_blocker.unblock():
        reset()
        run(LOAD)
        analyze()
        yield
        reset()


def hold(how: str) -> None:
    run(HOLD[how])
    wait_until_old_rows_are_dead()


def claim(rotation: QueueRotation | None = None) -> list[str]:
    """Claim one job of two queues."""
    plan = ClaimPlan(("a", "b"), 1, rotation=rotation)
    return [job.id for job in queries.claim(plan, queries.Claimer(), 1000, queries.Hints()).jobs]


ROTATIONS = [
    None,
    QueueRotation("p", Strategy.ROUND_ROBIN, (1.0, 1.0)),
    QueueRotation("p", Strategy.LEAST_LOADED, (1.0, 1.0), is_global=True),
]


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("rotation", ROTATIONS, ids=["in order", "by turns", "by depth, global"])
@pytest.mark.parametrize("how", ["marked", "paused"])
def test_jobs_behind_lanes_that_are_known_to_be_held_cost_nothing(
    how: str, rotation: QueueRotation | None
) -> None:
    hold(how)
    assert claim() == []  # walks once over the index entries that the lanes have left
    free = stored_ids(1, queue="a", priority=FREE)
    found: list[str] = []

    read = touched_by(lambda: found.extend(claim(rotation)))

    assert found == free
    assert not read.scanned.keys() & {"ojs_lane", "ojs_ready", "ojs_job"}
    assert max(read.entries.values()) <= FEW, read.entries


@pytest.mark.usefixtures("full")
def test_a_claim_looks_behind_all_lanes_of_a_limit_that_is_reached_and_marks_some() -> None:
    hold("open")
    free = stored_ids(1, queue="a", priority=FREE)
    found: list[str] = []

    read = touched_by(lambda: found.extend(claim()))

    assert found == free
    assert read.entries["ojs_ready_order"] <= FEW, "no job of theirs is looked at"
    assert read.entries["ojs_lane_pick"] <= 2 * LANES + FEW  # each lane; marked lanes twice
    assert Lane.objects.exclude(blocked_by=None).count() == MARKED + 1


@pytest.mark.usefixtures("full")
def test_claims_that_find_nothing_soon_cost_nothing() -> None:
    hold("open")
    claims = 0
    while Lane.objects.filter(queue="a", blocked_by=None, limits__isnull=False).exists():
        assert claim() == []
        claims += 1
    wait_until_old_rows_are_dead()
    assert claim() == []  # walks once over the index entries that the lanes have left

    read = touched_by(claim)

    assert claims <= LANES / MARKED
    assert max(read.entries.values()) <= FEW, read.entries
