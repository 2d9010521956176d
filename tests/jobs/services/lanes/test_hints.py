"""Low-water marks of the claim: a wrong mark may cost an index scan, never a result."""

import random
import sys
from collections.abc import Iterator

import pytest

from jobs.services.lanes import hints
from jobs.services.lanes.hints import FRESH_S, LANES, LowWater, starting_marks
from tests.concurrency import at_once

ROUNDS = 20_000


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Let threads interrupt each other after almost every instruction."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_queue_never_claimed_from_has_no_bounds() -> None:
    bounds = LowWater().bounds(["a"])

    assert bounds == (None, None, None, None)


def test_bounds_are_what_was_learned() -> None:
    low = LowWater()
    low.learn([("a", 7, 1000, -3, 2.5), ("a", 8, 50, -3, 2.5)])

    bounds = low.bounds(["b", "a"])

    assert (bounds.ranks, bounds.vts) == ([None, -3], [None, 2.5])
    assert (bounds.lanes, bounds.seqs) == ([7, 8], [1000, 50])


def test_only_the_lanes_used_last_are_remembered() -> None:
    low = LowWater()
    low.learn([("a", lane, 1000, 0, 0.0) for lane in range(LANES + 5)])

    assert low.bounds(["a"]).lanes == list(range(5, LANES + 5))


def test_one_claim_looks_at_all_while_the_others_keep_their_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(hints, "monotonic", lambda: now)
    low = LowWater()
    low.learn([("a", 7, 1000, -3, 2.5)])
    now += FRESH_S

    asked = [low.bounds(["a"]).vts for _ in range(3)]

    assert asked == [None, [2.5], [2.5]]


def test_a_claim_says_nothing_of_what_lies_below_its_bound() -> None:
    low = LowWater()
    low.learn([("a", 7, 1000, -3, 2.5)])
    bound = starting_marks(["a"], low.bounds(["a"]))
    low.learn([("a", 9, 10, -3, 0.5)])  # a claim without a hint

    low.learn([("a", 7, 1001, -3, 3.5)], started_from=bound)

    assert low.bounds(["a"]) == ([-3], [0.5], [9], [10])


def test_a_claim_raises_the_bound_that_it_went_by() -> None:
    low = LowWater()
    low.learn([("a", 7, 1000, -3, 2.5)])

    low.learn([("a", 7, 900, -3, 3.5)], started_from=starting_marks(["a"], low.bounds(["a"])))

    assert low.bounds(["a"]) == ([-3], [3.5], [7], [1000])


def test_a_claim_that_looked_at_all_sets_the_bounds_anew() -> None:
    low = LowWater()
    low.learn([("a", 7, 1000, -3, 2.5)])

    low.learn([("a", 8, 10, -3, 0.5)])

    assert low.bounds(["a"]) == ([-3], [0.5], [8], [10])


def test_forget_drops_all() -> None:
    low = LowWater()
    low.learn([("a", 7, 1000, -3, 2.5)])
    low.clear()

    assert low.bounds(["a"]) == (None, None, None, None)


@pytest.mark.usefixtures("frequent_switches")
def test_threads_that_learn_and_ask_at_once_never_fail() -> None:
    low = LowWater()

    def work(seed: int) -> None:
        draw = random.Random(seed)  # noqa: S311 - picks lanes
        for _ in range(ROUNDS // 8):
            lanes = draw.sample(range(3 * LANES), 8)
            low.learn([("a", lane, 1000, 0, 0.0) for lane in lanes])
            low.bounds(["a"])

    at_once([lambda seed=seed: work(seed) for seed in range(8)])  # type: ignore[misc]  # binds
