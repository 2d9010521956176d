"""Steps of a claim while another transaction holds the locks that they need."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest
from django.db import transaction

from tests.jobs.sql.claim.steps import (
    OF_STATE,
    add_lane,
    add_limit,
    add_queue,
    pick,
    request,
    rows,
    state,
    step,
    value,
)

pytestmark = pytest.mark.usefixtures("store")

Hold = Callable[..., None]
LANES = "SELECT FROM ojs_lane WHERE id = ANY (%s) FOR NO KEY UPDATE"
LIMIT = "SELECT pg_advisory_xact_lock(20266602, %s)"
STRIPE = "SELECT pg_advisory_xact_lock(20266603, %s)"
JOBS = "SELECT FROM ojs_ready WHERE seq = ANY (%s) FOR UPDATE"


@pytest.fixture
def hold(database_url: str) -> Iterator[Hold]:
    """Return a function by which another transaction holds locks until the end of the test."""
    with ExitStack() as stack:

        def held(statement: str, *values: object) -> None:
            other = stack.enter_context(psycopg.connect(database_url))
            other.execute(statement, values)

        yield held


def test_lanes_that_others_hold_share_what_is_beyond_the_locked_ones(hold: Hold) -> None:
    add_lane(1)
    add_lane(2)
    hold(LANES, [2])

    with transaction.atomic():
        found = step("ojs_pick_lanes", request(), state(quota=9), None)

    by_lane = {one["lane"]: one for one in found["picks"]}
    assert (found["unlocked_lanes"], found["charges_lanes"], found["records_debts"]) == (
        [2],
        True,
        True,
    )
    assert by_lane[1]["lane_ctid"]
    assert by_lane[2]["lane_ctid"] is None
    assert sum(found["planned"]) == 9
    assert all(planned >= 4 for planned in found["planned"])


def test_lanes_that_others_hold_all_are_shared_by_weight(hold: Hold) -> None:
    add_lane(1)
    add_lane(2)
    hold(LANES, [1, 2])

    with transaction.atomic():
        found = step("ojs_pick_lanes", request(), state(quota=8), None)

    assert (found["charges_lanes"], found["records_debts"], found["planned"]) == (
        False,
        True,
        [4, 4],
    )


def test_of_a_scope_no_lane_that_others_hold_is_shared(hold: Hold) -> None:
    add_lane(1, scope="s")
    add_lane(2, scope="s")
    hold(LANES, [2])

    with transaction.atomic():
        found = step("ojs_pick_lanes", request(), state(scope="s"), None)

    assert (found["lanes"], found["unlocked_lanes"], found["records_debts"]) == ([1], None, False)


def test_a_tenants_claim_shares_lanes_that_others_hold_all(hold: Hold) -> None:
    add_lane(1, tenant="a")
    add_lane(2, tenant="a")
    hold(LANES, [1, 2])

    with transaction.atomic():
        found = step("ojs_pick_lanes", request(tenant="a"), state(tenant_lanes=[1, 2]), None)

    assert (found["charges_lanes"], sorted(found["lanes"])) == (False, [1, 2])


def test_an_ordered_lane_that_another_holds_is_passed_by_while_something_is_held(
    hold: Hold,
) -> None:
    add_lane(1, [11], ordered=True, vt=11, limits=[7])
    add_lane(2, [12], ordered=True, vt=12)
    hold(LANES, [1])

    with transaction.atomic():
        found = step("ojs_pick_lanes", request(), state(must_not_wait=True), None)

    assert (found["lanes"], found["blocked_on"], found["exhausted"]) == ([2], -1, [1])


def test_a_limit_that_another_claim_has_locked_is_closed(hold: Hold) -> None:
    add_limit(7, concurrency=9)
    add_lane(1, limits=[7])
    hold(LIMIT, 7)

    with transaction.atomic():
        known = state(
            picks=[pick(1, is_limited=True, lane_ctid=True)], lanes=[1], planned=[3], rank=-2
        )
        found = value(f"ojs_cap_limits({OF_STATE})", known)

    assert (found["planned"], found["closed"]) == ([0], [7])
    assert (found["busy_rank"], found["blocked_on"]) == (-2, 7)


def test_the_limit_of_a_queue_is_passed_by_while_something_is_held(hold: Hold) -> None:
    add_queue(limit_id=add_limit(7, kind=1, concurrency=9))
    hold(LIMIT, 7)

    with transaction.atomic():
        found = step("ojs_claim_queue", request(), state(must_not_wait=True), 1, None)

    assert (found["quota"], found["blocked_on"]) == (0, 7)


def test_a_lane_is_not_retired_while_a_producer_adds_to_it(hold: Hold) -> None:
    add_lane(1)
    hold(STRIPE, 1)

    with transaction.atomic():
        assert value("ojs_retire_lanes(ARRAY[1]::bigint[])") is False

    assert rows("SELECT active FROM ojs_lane") == [(True,)]


def test_jobs_that_another_claim_has_locked_are_not_charged(hold: Hold) -> None:
    add_lane(1, [1, 2, 3])
    hold(JOBS, [1])

    with transaction.atomic():
        known = state(scope="s", picks=[pick(1)], planned=[3], planned_total=3)
        found = step("ojs_add_costs", request(scopes=["s"]), known)

    assert found["locked_jobs"] == [2]
