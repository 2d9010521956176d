"""ojs_claim_worker: the first step of a claim."""

from typing import Any

import pytest

from tests.jobs.sql.claim.steps import OF_REQUEST, Facts, add_lease, request, rows, value

pytestmark = pytest.mark.django_db


def begun(**members: Any) -> Facts:
    """Call ojs_claim_worker; returns the state of the claim."""
    found: Facts = value(f"ojs_claim_worker({OF_REQUEST})", request(**members))
    return found


def add_worker(**columns: Any) -> None:
    """Store a worker `w`."""
    names, places = ", ".join(columns), "".join(", %s" for _ in columns)
    statement = f"INSERT INTO ojs_worker (id{', ' if names else ''}{names}) VALUES ('w'{places})"  # noqa: S608
    rows(statement, *columns.values())


def test_a_claim_without_a_worker_begins_at_once() -> None:
    found = begun(jobs=3)

    assert (found["need"], found["exhausted"], found["must_not_wait"]) == (3, [], False)
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
def test_a_worker_that_must_not_fetch_ends_the_claim(
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
    add_lease(worker="w")

    assert begun(worker="w", prefetches=prefetches)["need"] == need


def test_an_old_sign_of_life_is_noted_anew() -> None:
    add_worker(last_heartbeat_at="2026-01-01")

    begun(worker="w", heard_ms=1000)

    [(is_new,)] = rows("SELECT last_heartbeat_at > now() - interval '1 h' FROM ojs_worker")
    assert is_new
