"""The conditions of lanes (`ojs_eligible`) and of jobs (`ojs_claimable`) that a claim may take."""

import pytest

from tests.jobs.sql.claim.steps import OF_LANE, lane_row, rows, value

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("lane", "limits", "key", "is_eligible"),
    [(1, None, 0, True), (9, None, 0, False), (1, [7], 0, False), (1, [8], 0, True),
     (1, None, 5, False)],
)  # fmt: skip
def test_a_lane_is_eligible_unless_something_excludes_it(
    lane: int, limits: list[int] | None, key: int, is_eligible: bool
) -> None:
    asked = f"ojs_eligible({OF_LANE}, '{{9}}'::bigint[], '{{7}}'::bigint[], '{{0,1}}'::int[])"

    assert value(asked, lane_row(id=lane, limits=limits, route=key)) is is_eligible


def test_no_closed_limits_and_any_version_key_exclude_nothing() -> None:
    asked = f"ojs_eligible({OF_LANE}, ARRAY[]::bigint[], NULL, NULL)"

    assert value(asked, lane_row(id=1, limits=[7], route=5)) is True


def test_a_waiting_job_is_claimable_until_it_expires() -> None:
    job = "jsonb_populate_record(NULL::ojs_ready, %s::jsonb)"
    asked = f"ojs_claimable({job}, '2026-01-02'::timestamptz)"

    assert value(asked, "{}") is True
    assert value(asked, '{"expires_at": "2026-01-02T00:00:00Z"}') is False
    assert value(asked, '{"expires_at": "2026-01-02T00:00:01Z"}') is True


@pytest.mark.parametrize(
    ("table", "condition"),
    [("ojs_lane", "ojs_eligible(x, '{}', NULL, '{1}')"),
     ("ojs_ready", "ojs_claimable(x, '2026-01-02'::timestamptz)")],
)  # fmt: skip
def test_the_conditions_are_put_in_place_where_they_are_used(table: str, condition: str) -> None:
    plan = rows(f"EXPLAIN (VERBOSE) SELECT x.id FROM {table} AS x WHERE {condition}")  # noqa: S608

    assert condition.partition("(")[0] not in str(plan)
