"""The benchmark of growth: order of the turns, figures, ticks, table and picture."""

from xml.etree import ElementTree

import pytest

from bench.dataset import SLICE, slices
from bench.scale.axis import ticks
from bench.scale.capacity import Cost, Look
from bench.scale.cells import Cost as CellCost
from bench.scale.measure import WRITERS, Curve, Slice, joined, rotation
from bench.scale.moving import Outcome
from bench.scale.picture import picture
from bench.scale.table import table

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def curve() -> Curve:
    """Return two points in three rounds: the second has half of the rate for twice the CPU."""
    base = [Slice(rate, 100, {"HTTP": 0.01, "loops": 0.0}) for rate in (100.0, 200.0, 400.0)]
    more = [Slice(rate, 50, {"HTTP": 0.008, "PostgreSQL": 0.002}) for rate in (50.0, 120.0, 160.0)]
    return Curve("GET <id>", ["1", "1,000"], [base, more])


@pytest.mark.parametrize("points", [1, 2, 4, 7])
def test_each_round_has_all_points_and_a_different_order(points: int) -> None:
    orders = list(rotation(points, points))

    assert all(sorted(order) == list(range(points)) for order in orders)
    assert len({tuple(order) for order in orders}) == points
    assert list(rotation(2, 4)) == [[0, 1], [1, 0], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        (0, [0, 1]),
        (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (1.31, [0, 0.5, 1, 1.5]),
        (5, [0, 1, 2, 3, 4, 5]),
        (376, [0, 100, 200, 300, 400]),
        (1_220, [0, 250, 500, 750, 1_000, 1_250]),
        (9_083, [0, 2_000, 4_000, 6_000, 8_000, 10_000]),
    ],
)
def test_ticks_are_round_and_reach_the_top(top: float, expected: list[float]) -> None:
    assert ticks(top) == expected


def test_a_rate_is_compared_with_the_base_of_its_round(curve: Curve) -> None:
    assert curve.ratios(0) == (1, 1, 1)
    assert curve.ratios(1) == (0.5, 0.4, 0.6)
    assert curve.rate(1) == 120


def test_cpu_per_job_is_of_all_rounds_by_part(curve: Curve) -> None:
    assert curve.cpu_us(0) == {"HTTP": pytest.approx(100)}
    assert curve.cpu_us(1) == {"HTTP": pytest.approx(160), "PostgreSQL": pytest.approx(40)}
    assert joined({"PostgreSQL": 1.0, WRITERS: 0.5}) == {"PostgreSQL": 1.5}


def test_a_table_has_a_row_for_each_point(curve: Curve) -> None:
    title, _, head, _, *rows, last = table("Jobs", "jobs", [curve])

    assert (title, last) == ("### Jobs", "")
    assert head == (
        "| path | jobs | rate/s | of base | min-max | CPU us | HTTP | PostgreSQL | client |"
    )
    assert rows == [
        "| GET <id> | 1 | 200 | 1.00 | 1.00-1.00 | 100 | 100 | 0 | 0% |",
        "|  | 1,000 | 120 | 0.50 | 0.40-0.60 | 200 | 160 | 40 | 0% |",
    ]


def test_a_picture_marks_the_base_and_names_parts_and_units(curve: Curve) -> None:
    root = ElementTree.fromstring(picture("Ended & waiting", "jobs", [curve]))  # noqa: S314 - ours

    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert texts.count("1 (base)") == texts.count("1,000") == 2
    assert {"Ended & waiting", "GET <id>: CPU, µs per job", "HTTP", "PostgreSQL"} <= set(texts)
    assert "loops" not in texts
    assert "prefers-color-scheme: dark" in "".join(root.itertext())


def test_a_history_is_filled_in_slices_from_the_oldest_job() -> None:
    assert list(slices(0)) == []
    assert list(slices(SLICE + 1)) == [(2, SLICE + 1), (1, 1)]


def test_a_cost_adds_slices_and_scales_them() -> None:
    cost = Cost("POST /jobs", sessions=12)
    cost.add(1_000, 2.0, Look({"HTTP": 1.0}, 500_000), Look({"HTTP": 1.5, WRITERS: 0.1}, 1_500_000))
    cost.add(3_000, 2.0, Look({"HTTP": 2.0}, 0), Look({"HTTP": 2.5, "PostgreSQL": 0.3}, 3_000_000))

    # 0.25 s of HTTP and 0.1 s of PostgreSQL for 1,000 jobs, 1 KB of WAL for each
    assert cost.cells() == [
        "POST /jobs", "1,000", "0.35", "0.25", "0.10", "0.00", "0.00", "12", "1.00",
    ]  # fmt: skip


def test_cells_cost_the_sum_of_their_parts_for_each_job() -> None:
    cost = CellCost(200, {"HTTP": 0.1, "PostgreSQL": 0.05}, [90.0, 110.0])

    assert cost.cells() == ["100", "750", "500", "250", "0"]


@pytest.mark.parametrize(
    ("moved", "lost", "twice", "is_right"),
    [(5, 0, 0, True), (0, 0, 0, False), (5, 1, 0, False), (5, 0, 1, False)],
)
def test_a_move_is_right_if_each_job_ran_once(
    moved: int, lost: int, twice: int, *, is_right: bool
) -> None:
    assert Outcome(moved, 1.0, 10, 5, 5, lost, twice).is_right is is_right
