"""What a throttle leaves. Spec: MT 9.2, contract 21 §5."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.claim import reduced
from tenancy.domain.tenant import TenantLimits, Terms
from tenancy.domain.throttle import Action, Reduction


@pytest.mark.parametrize(
    ("configured", "left"), [(10, 2), (14, 2), (15, 3), (4, 1), (1, 1), (0.5, 0.5), (0, 0)]
)
def test_mt_9_2_a_a_fifth_is_left_at_least_one_and_never_more(
    configured: float, left: float
) -> None:
    assert reduced(configured, 0.2) == left


@given(st.floats(0, 1_000_000), st.floats(0.001, 0.999))
def test_mt_9_2_a_nothing_is_raised_or_taken_away_whole(configured: float, factor: float) -> None:
    left = reduced(configured, factor)

    assert min(configured, 1) <= left <= configured


def test_mt_9_2_a_weight_counts_against_what_is_configured_now() -> None:
    throttled = Terms(weight=10, reduction=Reduction(Action.WEIGHT, 0.2, had=50))

    assert (throttled.effective_weight, throttled.weight_factor, throttled.cap) == (2, 0.2, None)


@pytest.mark.parametrize(("most", "cap"), [(None, 8), (20, 4), (3, 1), (0, 0)])
def test_mt_9_2_a_concurrency_without_a_limit_counts_from_what_was_active(
    most: int | None, cap: int
) -> None:
    throttled = Terms(
        limits=TenantLimits(max_concurrency=most),
        reduction=Reduction(Action.CONCURRENCY, 0.2, had=40),
    )

    assert (throttled.cap, throttled.weight_factor, throttled.effective_weight) == (cap, None, 1)
    assert Terms(is_suspended=True, reduction=throttled.reduction).cap == 0
