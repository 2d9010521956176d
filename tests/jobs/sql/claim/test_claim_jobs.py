"""The whole claim, and its calls by processes of earlier releases."""

import pytest

from tests.conftest import ROOT
from tests.jobs.sql.claim.steps import OF_REQUEST, add_lane, add_queue, request, rows

pytestmark = pytest.mark.django_db

CLAIM = f"SELECT id IS NULL, lane_id, seq, signals FROM ojs_claim_jobs({OF_REQUEST})"  # noqa: S608
# the call of releases 0.1.0 (28 arguments) and 0.2.0 (29)
OLD = "SELECT * FROM ojs_claim(%s::text[], %s, {})"
NOTHING = [
    "text", "bigint", "bigint", "text", "int[]", "text", "int", "text", "boolean", "boolean",
    "bigint", "bigint", "text", "smallint", "float8[]", "float8", "bigint", "boolean", "smallint[]",
    "float8[]", "bigint[]", "bigint[]", "bigint", "boolean", "text", "text[]",
]  # fmt: skip
NULLS = ", ".join(f"NULL::{kind}" for kind in NOTHING)
JOBS, SIGNALS = slice(28), slice(28, 38)


def test_jobs_come_before_the_signals() -> None:
    add_queue("a")
    add_queue("b")
    add_lane(1, [1], queue="a")
    add_lane(2, [2], queue="b")
    asked = request(queues=["b", "a"], jobs=2, rotation="x", strategy=1)

    assert rows(CLAIM, asked) == [
        (False, 2, 2, None), (False, 1, 1, None), (True, None, None, '{"turns": [1, 2]}'),
    ]  # fmt: skip


def test_queues_without_a_rotation_are_emptied_in_their_order() -> None:
    add_queue("a")
    add_queue("b")
    add_lane(1, [1, 3], queue="a")
    add_lane(2, [2], queue="b")

    found = rows(CLAIM, request(queues=["b", "a"], jobs=9))

    assert [seq for _, _, seq, _ in found] == [2, 1, 3]


def test_a_claim_that_must_not_go_on_says_why() -> None:
    [(version,)] = rows("SELECT version FROM ojs_terms")

    assert rows(CLAIM, request(configuration=version + 1)) == [
        (True, None, None, '{"stale": true}')
    ]


@pytest.mark.parametrize("more", ["", ", 3000"], ids=["0.1.0", "0.2.0"])
def test_processes_of_earlier_releases_get_their_columns(more: str) -> None:
    add_queue("a")
    add_queue("b")
    add_lane(1, [1], queue="a")
    add_lane(2, [2], queue="b")
    given = NULLS.split(", ")
    given[2], given[12], given[13] = "60000", "'x'", "1::smallint"

    first, second, last = rows(OLD.format(", ".join(given) + more), ["b", "a"], 2)

    assert [(row[2], row[4], row[5]) for row in (first, second)] == [("b", 2, 2), ("a", 1, 1)]
    assert first[SIGNALS] == (None,) * 10
    assert last[JOBS] == (None,) * 28
    assert last[SIGNALS] == (None, None, None, None, None, None, [1, 2], None, None, None)


def test_processes_of_earlier_releases_get_the_signals_as_columns() -> None:
    rows("INSERT INTO ojs_worker (id, tenant) VALUES ('w', 'a')")
    given = NULLS.split(", ")
    given[0], given[24] = "'w'", "'b'"

    [row] = rows(OLD.format(", ".join(given)), ["a"], 1)

    assert row[SIGNALS] == (None,) * 9 + (True,)


# functions of their arguments alone
CONDITIONS = {
    "ojs_claimable",
    "ojs_eligible",
    "ojs_make_request",
    "ojs_share",
    "ojs_share_by_weight",
}


def test_all_steps_are_volatile_and_inherit_the_settings() -> None:
    folder = ROOT / "jobs" / "sql" / "functions" / "claim"
    steps = {f"ojs_{path.stem}" for path in folder.glob("*.sql")} - CONDITIONS
    found = rows(
        "SELECT proname::text, provolatile::text, proconfig FROM pg_proc"
        " WHERE proname = ANY (%s) OR proname ~ '^ojs_rotation'",
        sorted(steps),
    )

    assert steps < {name for name, _, _ in found}
    assert {name for name, volatility, _ in found if volatility != "v"} == set()
    assert [name for name, _, settings in found if settings] == ["ojs_claim_jobs"]
