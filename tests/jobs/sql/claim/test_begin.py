"""The worker, the pool and the request of a claim: the steps before it looks at a queue."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import (
    OF_REQUEST,
    Facts,
    add_lane,
    request,
    rows,
    state,
    step,
    value,
)

pytestmark = pytest.mark.django_db


def begun(**members: Any) -> Facts:
    """Begin a claim."""
    found: Facts = value(f"ojs_claim_worker({OF_REQUEST})", request(**members))
    return found


def add_worker(**columns: Any) -> None:
    """Store a worker `w`."""
    names, places = ", ".join(columns), "".join(", %s" for _ in columns)
    statement = f"INSERT INTO ojs_worker (id{', ' if names else ''}{names}) VALUES ('w'{places})"  # noqa: S608
    rows(statement, *columns.values())


def lease(*, pool: str | None = None, worker: str | None = None) -> None:
    """Store an active job."""
    rows(
        "INSERT INTO ojs_lease (id, lane_id, tenant, watched, pool, worker_id, attempt,"
        " enqueued_at, started_at, lease_ms, lease_until, timeout_at)"
        " VALUES (gen_random_uuid(), 1, 't', false, %s, %s, 1, now(), now(), 1, now(), now())",
        pool, worker,
    )  # fmt: skip


# --- the worker -----------------------------------------------------------------------------------


def test_a_claim_without_a_worker_begins_at_once() -> None:
    found = begun(jobs=3)

    assert (found["need"], found["exhausted"], found["is_holding"]) == (3, [], False)
    assert found["signals"] is None


def test_another_configuration_version_ends_the_claim() -> None:
    [(version,)] = rows("SELECT version FROM ojs_terms")

    assert begun(configuration=version)["signals"] is None
    assert begun(configuration=version + 1)["signals"] == {"stale": True}


def test_an_unknown_worker_is_stored_with_its_pool() -> None:
    found = begun(worker="w", caller="t", worker_pool="p", names_pool=True)

    assert found["signals"] is None
    assert rows("SELECT id, tenant, pool FROM ojs_worker") == [("w", "t", "p")]


ENDED: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]] = [
    ({"tenant": "t"}, {"caller": "other"}, {"foreign": True}),
    ({"tenant": "t"}, {"caller": "t"}, None),
    ({"directive": 2, "reported": 1}, {}, {"directive": 2}),
    ({"pool": "p"}, {}, {"pool": "p"}),
    ({"pool": "p"}, {"worker_pool": "other", "names_pool": True}, {"pool": "p"}),
    ({}, {"worker_pool": "p"}, {"pool": ""}),
    ({}, {"worker_pool": "p", "names_pool": True}, None),
    ({"pool": "p"}, {"worker_pool": "p"}, None),
    ({"declared": 7}, {"declared": 8}, {"declared": 7}),
    ({}, {"declared": 8}, {"declared": 0}),
    ({"declared": 7}, {"declared": 7}, None),
]


@pytest.mark.parametrize(("worker", "asked", "signals"), ENDED)
def test_what_a_worker_is_may_end_the_claim(
    worker: dict[str, Any], asked: dict[str, Any], signals: dict[str, Any] | None
) -> None:
    add_worker(**worker)

    assert begun(worker="w", **asked)["signals"] == signals


def test_a_worker_that_ended_may_join_another_pool() -> None:
    add_worker(pool="p", stopped_at="2026-01-01")

    assert begun(worker="w", worker_pool="q", names_pool=True)["signals"] is None
    assert rows("SELECT pool FROM ojs_worker") == [("q",)]


@pytest.mark.parametrize(("prefetches", "need"), [(False, 1), (True, 9)])
def test_the_load_of_a_worker_bounds_the_claim(prefetches: bool, need: int) -> None:
    add_worker(concurrency=2)
    lease(worker="w")

    assert begun(worker="w", prefetches=prefetches)["need"] == need


def test_an_old_sign_of_life_is_noted_anew() -> None:
    add_worker(last_heartbeat_at="2026-01-01")

    begun(worker="w", heard_ms=1000)

    [(is_new,)] = rows("SELECT last_heartbeat_at > now() - interval '1 h' FROM ojs_worker")
    assert is_new


# --- the pool -------------------------------------------------------------------------------------


def locked() -> set[int]:
    """Return the kinds of advisory locks that this session holds."""
    found = rows(
        "SELECT classid::bigint FROM pg_locks"
        " WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    )
    return {number - 20266000 for (number,) in found}


def test_the_cap_of_a_pool_counts_its_jobs_under_its_lock() -> None:
    lease(pool="p")

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

    assert (found["is_holding"], locked()) == (True, locks)


# --- the request ----------------------------------------------------------------------------------


def test_a_request_names_its_members_in_the_order_of_its_type() -> None:
    names = rows(
        "SELECT array_agg(a.attname::text ORDER BY a.attnum),"
        " (SELECT p.proargnames FROM pg_proc AS p WHERE p.oid = 'ojs_make_request'::regproc)"
        " FROM pg_attribute AS a JOIN pg_type AS t ON t.typrelid = a.attrelid"
        " WHERE t.oid = 'ojs_request'::regtype AND a.attnum > 0"
    )

    [(members, arguments)] = names
    assert members == arguments


def test_making_a_request_costs_no_call() -> None:
    arguments = ", ".join(["'{q}'", "1", *["NULL"] * 27])
    claim = f"ojs_claim_jobs(ojs_make_request({arguments}))"
    plan = rows(f"EXPLAIN (VERBOSE) SELECT * FROM {claim}")  # noqa: S608

    assert "ojs_make_request" not in str(plan)
    assert "ROW(" in str(plan) or "::ojs_request" in str(plan)
