"""Arithmetic of objectives: attainment, burn rate and error budget."""

import pytest

from jobs.domain.lanes.objective import Objective, objective_of
from jobs.domain.lanes.queues import merge
from jobs.domain.record.objective import Window


@pytest.mark.parametrize(
    ("started", "late", "attainment", "burn_rate", "left"),
    [
        (1_000, 0, 1.0, 0.0, 1.0),
        (1_000, 5, 0.995, 0.5, 0.5),
        (1_000, 10, 0.99, 1.0, 0.0),
        (1_000, 144, 0.856, 14.4, -13.4),
        (0, 0, None, None, None),
    ],
)
def test_a_window_is_judged_against_the_budget(
    started: int, late: int, attainment: float | None, burn_rate: float | None, left: float | None
) -> None:
    window, objective = Window(3_600, started, late), Objective(30_000, 99.0)

    assert objective.budget == 0.01
    assert window.attainment == pytest.approx(attainment)
    assert window.burn_rate(objective) == pytest.approx(burn_rate)
    assert window.budget_left(objective) == pytest.approx(left)


def test_the_budget_of_a_strict_objective_is_exact() -> None:
    assert Objective(30_000, 99.99).budget == 0.0001


def test_an_objective_is_configured_changed_in_part_and_reset() -> None:
    config = merge({}, {"objective": {"start_within_ms": 30_000, "percent": 99}}, strict=True)

    assert objective_of(config) == Objective(30_000, 99.0)
    changed = merge(config, {"objective": {"percent": 99.9}}, strict=True)
    assert objective_of(changed) == Objective(30_000, 99.9)
    assert objective_of(merge(changed, {"objective": None}, strict=True)) is None
