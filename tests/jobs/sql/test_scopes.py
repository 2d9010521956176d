"""The cost of sharing over several queues, for claims of a scope and for all others. ADR 0018.

Measured as in test_plans.py: by the index entries that the claim reads.
"""

from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs import queries
from jobs.domain.dispatch.claim import ClaimPlan, QueueRotation, Strategy
from jobs.models import Lane, Served
from jobs.services.upkeep.reset import reset
from tests.concurrency import wait_until_old_rows_are_dead
from tests.factories import stored_ids
from tests.jobs.sql.volume import analyze, touched_by

TENANTS, RAISED, FEW = 2_000, 600, 250
ROTATION = QueueRotation("p", Strategy.WEIGHTED, (1.0, 2.0))

LOAD = """
INSERT INTO ojs_queue (name) VALUES ('a'), ('b') ON CONFLICT DO NOTHING;
WITH key AS (
    INSERT INTO ojs_lane_key (queue, priority, tenant)
    SELECT q, 0, 't' || n FROM generate_series(1, 2000) AS n, unnest(ARRAY['a', 'b']) AS q
    RETURNING id, queue, priority, tenant
)
INSERT INTO ojs_lane (id, queue, priority, tenant, active, scope)
SELECT id, queue, priority, tenant, true, 's' FROM key;
INSERT INTO ojs_served (scope, rank, tenant, cost)
SELECT 's', 0, 't' || n, 0 FROM generate_series(1, 2000) AS n;
WITH made AS (
    INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta,
                         attributes, max_attempts, timeout_ms, created_at, attempt, enqueued_at)
    SELECT gen_random_uuid(), 'volume.type', l.queue, l.tenant, l.id, 0, false, '[]', '{}', '{}', 3,
           1000, now(), 0, now()
      FROM ojs_lane AS l, generate_series(1, 3) RETURNING id, lane_id
)
INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at) SELECT id, lane_id, 0, now() FROM made;
"""


def run(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text)


@pytest.fixture
def full(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Load two queues that the same tenants share."""
    with django_db_blocker.unblock():
        reset()
        run(LOAD)
        analyze()
        yield
        reset()


def claim(
    limit: int, *queues: str, scope: str | None = "s", rotation: QueueRotation | None = None
) -> list[str]:
    """Claim; returns the tenants."""
    names = queues or ("a", "b")
    plan = ClaimPlan(
        names, limit, rotation=rotation, scopes=dict.fromkeys(names, scope) if scope else {}
    )
    return [
        job.tenant for job in queries.claim(plan, queries.Claimer(), 1000, queries.Hints()).jobs
    ]


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("rotation", [None, ROTATION], ids=["in order", "by turns"])
def test_claims_where_tenants_share_over_a_queue_alone_read_nothing_of_scopes(
    rotation: QueueRotation | None,
) -> None:
    run("UPDATE ojs_lane SET scope = NULL")
    wait_until_old_rows_are_dead()

    read = touched_by(lambda: claim(10, scope=None, rotation=rotation))

    assert not [name for name in {*read.scanned, *read.entries} if name.startswith("ojs_served")]


@pytest.mark.usefixtures("full")
def test_storing_jobs_reads_nothing_of_scopes_where_lanes_are_of_none() -> None:
    read = touched_by(lambda: stored_ids(3, queue="other"))

    assert not [name for name in {*read.scanned, *read.entries} if name.startswith("ojs_served")]


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("rotation", [None, ROTATION], ids=["in order", "by turns"])
def test_a_claim_looks_at_the_first_lanes_alone(rotation: QueueRotation | None) -> None:
    claim(10, rotation=rotation)
    wait_until_old_rows_are_dead()

    read = touched_by(lambda: claim(10, rotation=rotation))

    assert not read.scanned.keys() & {"ojs_lane", "ojs_ready", "ojs_job", "ojs_served"}
    assert max(read.entries.values()) <= FEW, read.entries


@pytest.mark.usefixtures("full")
def test_a_claim_raises_some_hundreds_of_lanes_and_leaves_the_rest_to_the_next() -> None:
    run("UPDATE ojs_served SET cost = 1 WHERE tenant <> 't7'")  # jobs elsewhere, except t7
    wait_until_old_rows_are_dead()
    raised = [0]

    while raised[-1] < TENANTS - 1:
        assert claim(1, "b")
        raised.append(Lane.objects.filter(queue="b", vt__gte=1).count())
        assert raised[-2] < raised[-1] <= raised[-2] + RAISED

    wait_until_old_rows_are_dead()
    run("SELECT count(*) FROM ojs_lane")
    claim(1, "b")  # walks once over the index entries that lanes have left
    assert max(touched_by(lambda: claim(1, "b")).entries.values()) <= FEW


@pytest.mark.usefixtures("full")
def test_sums_that_are_no_longer_valid_are_not_walked_over() -> None:
    for n in range(1, 40):
        Served.objects.filter(tenant="t1").delete()
        Served.objects.create(scope="s", rank=0, tenant="t1", cost=n)

    read = touched_by(lambda: run("SELECT ojs_served('s', 0::smallint, 't1')"))

    assert read.entries["ojs_served_pkey"] == 1
