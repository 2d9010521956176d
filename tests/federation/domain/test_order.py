"""The last writer wins, in any order of arrival. Spec: federation 5.2; contract 23.6."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.domain.order import is_skewed, latest, milliseconds, winner
from tests.spec import spec

NOON = datetime(2026, 5, 4, 12, 0, 0, 123_000, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    """A copy."""

    origin_region: str
    job_id: str = "j"
    enqueued_at: datetime = NOON
    revision: int = 1
    federation_id: str = "f"


def later(**parts: float) -> datetime:
    return NOON + timedelta(**parts)


@spec("FED-5.2-a")
def test_the_later_one_wins() -> None:
    assert winner([Row("us"), Row("eu", enqueued_at=later(seconds=1))]).origin_region == "eu"
    assert winner([Row("us", enqueued_at=later(seconds=1)), Row("eu")]).origin_region == "us"


@spec("FED-5.2-b")
def test_microseconds_do_not_count() -> None:
    same_ms = [Row("us", enqueued_at=later(microseconds=999)), Row("eu"), Row("ap")]

    assert winner(same_ms).origin_region == "us", "the greater region of equal milliseconds"
    assert winner([*same_ms, Row("eu", "k", later(milliseconds=1))]).job_id == "k"


@spec("FED-5.2-b")
def test_of_equal_times_the_greater_federation_id_wins() -> None:
    assert (
        winner([Row("us", federation_id="a"), Row("ap", federation_id="b")]).origin_region == "ap"
    )


def test_of_one_job_the_higher_revision_is_the_newer_state() -> None:
    old = Row("us", revision=1, enqueued_at=later(hours=1))
    new = Row("us", revision=2)

    assert latest([new, old]) == latest([old, new]) == [new]
    assert winner([old, new, Row("eu", enqueued_at=later(minutes=1))]).origin_region == "eu"


ROWS = st.lists(
    st.builds(
        Row,
        origin_region=st.sampled_from(["ap", "eu", "us"]),
        job_id=st.sampled_from(["j", "k"]),
        enqueued_at=st.integers(0, 4000).map(lambda us: NOON + timedelta(microseconds=us)),
        revision=st.integers(1, 6),
    ),
    min_size=1, max_size=12,
    unique_by=lambda row: (row.origin_region, row.job_id, row.revision),
)  # fmt: skip


@given(rows=ROWS, data=st.data())
def test_regions_that_saw_the_same_agree_whatever_came_first(
    rows: list[Row], data: st.DataObject
) -> None:
    """Each region keeps only the newest state of each job, as the table of copies does."""
    orders = [data.draw(st.permutations(rows)) for _ in range(3)]
    doubled = [[*order, *data.draw(st.permutations(order))] for order in orders]
    kept: list[list[Row]] = []
    for order in doubled:
        known: list[Row] = []
        for row in order:
            known = latest([*known, row])
        kept.append(sorted(known, key=lambda row: (row.origin_region, row.job_id)))

    assert kept[0] == kept[1] == kept[2]
    assert len({winner(rows) for rows in kept}) == 1


@pytest.mark.parametrize(("seconds", "skewed"), [(61, True), (60, False), (-3600, False)])
def test_a_time_far_ahead_is_skewed(seconds: int, skewed: bool) -> None:
    assert is_skewed(later(seconds=seconds), NOON) is skewed


def test_milliseconds_are_cut_and_not_rounded() -> None:
    assert milliseconds(later(microseconds=999)) == milliseconds(NOON)
    assert milliseconds(later(microseconds=1000)) == milliseconds(NOON) + 1
