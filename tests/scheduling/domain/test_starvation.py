"""Starvation of queues. Spec: fair-scheduling 8, 11.1."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.domain.dispatch.claim import Strategy
from scheduling.domain.pool import Pool, Prevention
from scheduling.domain.starvation import Wait, Watched, watched

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Return a time."""
    return START + timedelta(seconds=seconds)


def pool(name: str, *queues: str, rotation_ms: int = 30_000, isolated: bool = False) -> Pool:
    """Return a pool."""
    return Pool(
        name, queues, (1,) * len(queues), Strategy.STRICT,
        isolated=isolated, prevention=Prevention(rotation_ms=rotation_ms),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wait", "lasts_ms", "is_reported"),
    [
        (Wait(at(0)), 60_000, False),
        (Wait(at(0), last_at=at(-5)), 60_000, False),
        (Wait(at(0), last_at=at(45.5)), 14_500, False),
        (Wait(at(0), last_at=at(61)), 0, False),  # started during the check
        (Wait(at(0), told_at=at(31)), 60_000, True),
        (Wait(at(0), last_at=at(20), told_at=at(51)), 40_000, True),
        (Wait(at(0), last_at=at(40), told_at=at(31)), 20_000, False),  # the reported wait is over
    ],
)
def test_a_wait_lasts_from_when_it_was_seen_or_from_the_last_start(
    wait: Wait, lasts_ms: int, *, is_reported: bool
) -> None:
    assert (wait.lasts_ms(at(60)), wait.is_reported) == (lasts_ms, is_reported)


def test_a_queue_of_several_pools_goes_by_the_most_impatient() -> None:
    found = watched([pool("a", "x", "y"), pool("b", "x", rotation_ms=1000), pool("c", "y")])

    assert found == {"x": Watched("x", "b", 1000), "y": Watched("y", "a", 30_000)}


def test_a_queue_that_an_isolated_pool_keeps_is_watched_for_it() -> None:
    found = watched([pool("a", "x", rotation_ms=1000), pool("b", "x", isolated=True)])

    assert found == {"x": Watched("x", "b", 30_000)}
