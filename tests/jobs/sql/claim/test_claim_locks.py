"""ojs_claim_locks: the locks of a pool, a rotation and scopes, and the cap of a pool."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import add_lane, add_lease, request, rows, state, step

pytestmark = pytest.mark.django_db


def locked() -> set[int]:
    """Return the kinds of advisory locks that this session holds."""
    found = rows(
        "SELECT classid::bigint FROM pg_locks"
        " WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    )
    return {number - 20266000 for (number,) in found}


def test_the_cap_of_a_pool_counts_its_jobs_under_its_lock() -> None:
    add_lease(pool="p")

    found = step("ojs_claim_locks", request(pool="p", pool_cap=3), state())

    assert (found["need"], locked()) == (2, {601})


def test_a_full_pool_ends_the_steps_before_other_locks() -> None:
    found = step("ojs_claim_locks", request(pool="p", pool_cap=0, scopes=["s"]), state())

    assert (found["need"], locked()) == (0, {601})


@pytest.mark.parametrize(
    ("members", "locks"),
    [
        ({"strategy": 0}, set()),
        ({"strategy": 1}, {601}),
        ({"strategy": 3}, set()),
        ({"strategy": 3, "ratio": 0.1}, {601}),
        ({"strategy": 1, "queues": ["q"]}, set()),
    ],
)
def test_a_rotation_is_locked_where_turns_follow_from_earlier_ones(
    members: dict[str, Any], locks: set[int]
) -> None:
    step("ojs_claim_locks", request(**{"queues": ["q", "r"], "rotation": "x", **members}), state())

    assert locked() == locks


def test_scopes_are_locked_once_each() -> None:
    step("ojs_claim_locks", request(scopes=["s", None, "s"]), state())

    assert locked() == {621}


@pytest.mark.parametrize(("name", "locks"), [(7, {602}), (-1, set())])
def test_the_lock_that_hid_jobs_is_waited_for(name: int, locks: set[int]) -> None:
    add_lane(1)

    found = step("ojs_claim_locks", request(blocked_on=name), state())

    assert (found["must_not_wait"], locked()) == (True, locks)
