"""The soak: which memory counts as growth, its table, its plot and its times."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bench.soak.hours import LINES, growth, table
from bench.soak.plot import plot
from bench.soak.watch import Sample, middle_and_p99

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def samples() -> list[Sample]:
    """Return two hours in which the memory of the loops grows, and that of HTTP does not."""
    first = Sample(
        0.0, {"HTTP process": 120.0, "loops": 100.0}, 10.0, 20.0, 1_500, 40, (1.5, 9.0), (3.0, 20.0)
    )
    return [
        replace(first, minute=float(n), memory={"HTTP process": 120.0, "loops": 100.0 + n})
        for n in range(1, 121)
    ]


def test_growth_compares_the_last_quarter_with_the_second(samples: list[Sample]) -> None:
    assert growth(samples) == {
        "HTTP process": 1.0,
        "loops": pytest.approx((100 + 105.5) / (100 + 45.5)),
    }


def test_growth_needs_four_samples(samples: list[Sample]) -> None:
    assert growth(samples[:3]) == {}
    assert growth([]) == {}


def test_growth_leaves_out_a_role_that_a_sample_lacks(samples: list[Sample]) -> None:
    samples[7] = replace(samples[7], memory={"loops": 100.0})

    assert list(growth(samples)) == ["loops"]


def test_the_table_has_few_rows_and_the_last_sample(samples: list[Sample]) -> None:
    head, line, *rows = table(samples)

    assert len(rows) == LINES
    assert head.count("|") == line.count("|") == rows[0].count("|") == 13
    assert rows[-1] == ("| 120 | 120 | 220 | 0 | 10 | 20 | 1,500 | 40 | 1.5 | 9.0 | 3.0 | 20.0 |")


def test_the_plot_has_a_line_for_each_name_and_the_minutes(samples: list[Sample]) -> None:
    root = ElementTree.fromstring(plot("Soak & faults", samples))  # noqa: S314 - ours

    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert {"Soak & faults", "loops", "tables", "indexes", "enqueue to start"} <= set(texts)
    assert texts.count("minutes") == 4
    lines = list(root.iter(f"{SVG}polyline"))
    assert len(lines) == 9
    assert all(len(line.attrib["points"].split()) == len(samples) for line in lines)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], (0, 0)), ([5.0], (5, 5)), ([float(n) for n in range(100, 0, -1)], (51, 100))],
)
def test_median_and_p99(values: list[float], expected: tuple[float, float]) -> None:
    assert middle_and_p99(values) == expected
