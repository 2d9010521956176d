"""How many jobs each lane gives: plain arithmetic, tested by table."""

import pytest

from tests.jobs.sql.claim.steps import PICKS, Facts, pick, picks, value

pytestmark = pytest.mark.django_db


def lanes(*vts_and_weights: tuple[float, float]) -> list[Facts]:
    """Return picks with these virtual times and weights."""
    return [pick(n, vt=vt, weight=weight) for n, (vt, weight) in enumerate(vts_and_weights, 1)]


SHARES = [
    ("equal lanes share equally", [(0, 1), (0, 1)], 4, [2, 2]),
    ("the first of equal lanes gets the odd job", [(0, 1), (0, 1)], 3, [2, 1]),
    ("a single job goes to the first lane", [(5, 1), (0, 1)], 1, [1, 0]),
    ("weights count", [(0, 3), (0, 1)], 4, [3, 1]),
    ("a lane far ahead gives nothing", [(0, 1), (9, 1)], 4, [4, 0]),
    ("a lane behind catches up first", [(0, 1), (2, 1)], 4, [3, 1]),
    ("a lane alone gives all", [(7, 0.5)], 6, [6]),
    ("small weights get their tags", [(0, 0.5), (0, 1)], 3, [1, 2]),
    ("more lanes than jobs", [(0, 1), (0, 1), (0, 1)], 2, [1, 1, 0]),
]


@pytest.mark.parametrize(
    ("given", "quota", "planned"), [row[1:] for row in SHARES], ids=[row[0] for row in SHARES]
)
def test_smallest_tags_get_the_jobs(
    given: list[tuple[float, float]], quota: int, planned: list[int]
) -> None:
    assert value(f"ojs_share({PICKS}, %s)", picks(*lanes(*given)), quota) == planned


BY_WEIGHT = [
    ([1, 1], 2, 0.0, [1, 1]),
    ([1, 1], 3, 0.0, [1, 2]),
    ([1, 1], 3, 0.5, [2, 1]),
    ([3, 1], 4, 0.9, [3, 1]),
    ([1, 1, 1], 1, 0.0, [0, 0, 1]),
    ([1, 1, 1], 1, 0.5, [0, 1, 0]),
    ([1, 1, 1], 1, 0.9, [1, 0, 0]),
    ([0.5], 7, 0.3, [7]),
]


@pytest.mark.parametrize(("weights", "quota", "start", "planned"), BY_WEIGHT)
def test_marks_of_the_ruler_are_shared_by_weight(
    weights: list[float], quota: int, start: float, planned: list[int]
) -> None:
    given = picks(*lanes(*((0.0, weight) for weight in weights)))

    assert value(f"ojs_share_by_weight({PICKS}, %s, %s)", given, quota, start) == planned


@pytest.mark.parametrize("start", [0.0, 0.25, 0.999999])
def test_shares_by_weight_add_up_to_the_quota(start: float) -> None:
    given = picks(*lanes(*((0.0, weight) for weight in (0.3, 5.0, 1.7, 0.1))))

    planned = value(f"ojs_share_by_weight({PICKS}, %s, %s)", given, 50, start)

    assert sum(planned) == 50
