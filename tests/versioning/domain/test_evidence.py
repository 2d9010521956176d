"""Evidence that a version fails too often: pure functions, simulated. Spec: contract 22.4."""

from math import comb, exp, log
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.spec import spec
from versioning.domain.evidence import Evidence, Guard, Guess, Outcomes, Pair, log_ratio, wilson

LOOKS = 120  # of five seconds: ten minutes
WINDOW = 24  # looks: two minutes
SIGNIFICANCE = 0.05


def attempts(random: Random, number: int, rate: float) -> Outcomes:
    failed = sum(random.random() < rate for _ in range(number))
    return Outcomes(number - failed, failed)


def summed(found: list[Outcomes]) -> Outcomes:
    return Outcomes(sum(one.acked for one in found), sum(one.failed for one in found))


def taken_back(
    random: Random, guard: Guard, rates: tuple[float, float], jobs: tuple[int, int] = (4, 12)
) -> int | None:
    """Run a canary as the loop watches it; return the look of the rollback, or None without it."""
    seen: list[Pair] = []
    evidence = Evidence()
    for look in range(LOOKS):
        before = seen[-WINDOW:]
        known = Pair(summed([one.new for one in before]), summed([one.old for one in before]))
        now = Pair(*(attempts(random, n, rate) for n, rate in zip(jobs, rates, strict=True)))
        evidence = evidence.after(now, known, guard.threshold)
        seen.append(now)
        window = summed([one.new for one in seen[-WINDOW:]])
        if guard.is_exceeded(window) and guard.is_proven(evidence):
            return look
    return None


GUARDED = Guard(0.05, 120_000, 20, SIGNIFICANCE)


@pytest.mark.parametrize("rate", [0.02, 0.08, 0.3])
@spec("VER-10.2-a")
def test_equal_versions_are_not_taken_back_more_often_than_the_significance(
    rate: float,
) -> None:
    random = Random(f"equal {rate}")  # noqa: S311 - equal in every run

    found = [taken_back(random, GUARDED, (rate, rate)) for _ in range(examples(1_000))]

    assert sum(look is not None for look in found) <= len(found) * SIGNIFICANCE


@spec("VER-10.2-a")
def test_without_a_significance_the_threshold_alone_decides() -> None:
    random = Random("unguarded")  # noqa: S311 - equal in every run
    plain = Guard(0.05, 120_000, 20)

    found = [taken_back(random, plain, (0.08, 0.08)) for _ in range(50)]

    # its random failures exceed the threshold this often
    assert sum(look is not None for look in found) > 45


@pytest.mark.parametrize("stable", [0.0, 0.01, 0.03])
@spec("VER-10.2-a")
def test_a_failure_of_20_percent_is_taken_back_within_the_window(stable: float) -> None:
    random = Random(f"failing {stable}")  # noqa: S311 - equal in every run

    found = [taken_back(random, GUARDED, (0.2, stable)) for _ in range(300)]

    in_time = sum(look is not None and look < WINDOW for look in found)
    assert in_time >= 0.95 * len(found)


def test_a_version_that_turns_bad_late_is_taken_back_too() -> None:
    random = Random("late")  # noqa: S311 - equal in every run
    found = Evidence()
    known = Pair(Outcomes(1_200, 12), Outcomes(3_600, 36))
    for _ in range(2_000):  # almost three hours without a fault
        found = found.after(
            Pair(attempts(random, 4, 0.01), attempts(random, 12, 0.01)), known, 0.05
        )
    assert not found.is_evident(SIGNIFICANCE)

    late = Pair(Outcomes(), Outcomes())
    looks = 0
    while not found.is_evident(SIGNIFICANCE):
        seen = Pair(attempts(random, 4, 0.2), attempts(random, 12, 0.01))
        known = Pair(summed([late.new, Outcomes(60, 1)]), summed([late.old, Outcomes(200, 2)]))
        found = found.after(seen, known, 0.05)
        late = Pair(summed([late.new, seen.new]), summed([late.old, seen.old]))
        looks += 1

    assert looks <= 2 * WINDOW


rates = st.floats(0.001, 0.999)


@settings(max_examples=examples(200), deadline=None)
@given(rates, rates, rates, st.integers(1, 4), st.integers(1, 4))
def test_under_equal_rates_no_bet_is_expected_to_grow(
    one: float, other: float, rate: float, new: int, old: int
) -> None:
    guess = Guess(max(one, other), min(one, other))

    expected = 0.0
    for a in range(new + 1):
        for b in range(old + 1):
            likelihood = _binomial(new, a, rate) * _binomial(old, b, rate)
            ratio = log_ratio(Pair(Outcomes(new - a, a), Outcomes(old - b, b)), guess)
            expected += likelihood * exp(ratio)

    assert expected <= 1 + 1e-9


def _binomial(number: int, failed: int, rate: float) -> float:
    return comb(number, failed) * rate**failed * (1 - rate) ** (number - failed)


def test_looks_that_see_nothing_cost_nothing() -> None:
    found = Evidence(3, -1.0)

    assert found.after(Pair(), Pair(Outcomes(9, 1), Outcomes(9, 1)), 0.05) == found
    assert Evidence().p_value == 1.0
    assert Evidence(9, -log(0.01)).p_value == pytest.approx(0.01)


THRESHOLD = [  # acked, failed, whether it exceeds 5 percent of at least 20
    (19, 1, False),  # equal, not above
    (18, 2, True),
    (0, 19, False),  # too few attempts
    (0, 20, True),
    (950, 50, False),
    (949, 51, True),
]


@pytest.mark.parametrize(("acked", "failed", "is_exceeded"), THRESHOLD)
@spec("contract 22.4")
def test_the_threshold_has_to_be_passed_by_enough_samples(
    acked: int, failed: int, *, is_exceeded: bool
) -> None:
    assert Guard(0.05, 1).is_exceeded(Outcomes(acked, failed)) is is_exceeded


def test_wilson_intervals() -> None:
    assert wilson(Outcomes()) == (0, 1)
    low, high = wilson(Outcomes(90, 10))
    assert (round(low, 4), round(high, 4)) == (0.0552, 0.1744)
    assert wilson(Outcomes(10, 0)).low == 0
    assert wilson(Outcomes(0, 10)).high == 1
    assert Outcomes(3, 1).rate == 0.25
    assert Outcomes().rate is None
