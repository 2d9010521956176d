"""The weight or concurrency that a throttle leaves. Spec: MT 9.2, contract 21.5."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.dispatch.claim import reduced
from tenancy.domain.tenant import TenantLimits, TenantPolicy
from tenancy.domain.throttle import Action, Reduction
from tests.spec import spec


@pytest.mark.parametrize(
    ("configured", "left"), [(10, 2), (14, 2), (15, 3), (4, 1), (1.5, 1), (1, 0.2), (0.5, 0.1)]
)
@spec("MT-9.2-a")
def test_a_fifth_is_left_in_whole_numbers_while_that_takes_any(
    configured: float, left: float
) -> None:
    assert reduced(configured, 0.2) == left


@given(st.floats(0.001, 1_000_000), st.floats(0.001, 0.999))
@spec("MT-9.2-a")
def test_something_is_taken_of_every_weight_and_some_left(configured: float, factor: float) -> None:
    assert 0 < reduced(configured, factor) < configured


@given(st.floats(0.001, 1_000_000), st.floats(0.001, 1_000_000), st.floats(0.001, 0.999))
@spec("MT-9.2-a")
def test_who_weighs_more_still_does_not_weigh_less(one: float, other: float, factor: float) -> None:
    low, high = sorted([one, other])

    assert reduced(low, factor) <= reduced(high, factor)


@given(st.integers(0, 1_000_000), st.floats(0.001, 0.999))
@spec("MT-9.2-a")
def test_of_active_jobs_one_is_left(configured: int, factor: float) -> None:
    left = Reduction(Action.CONCURRENCY, factor, had=0).effective(configured)

    assert min(configured, 1) <= left <= configured
    assert left == int(left)


@spec("MT-9.2-a")
def test_weight_counts_against_what_is_configured_now() -> None:
    throttled = TenantPolicy(weight=10, reduction=Reduction(Action.WEIGHT, 0.2, had=50))

    assert (throttled.effective_weight, throttled.weight_factor, throttled.cap) == (2, 0.2, None)


@pytest.mark.parametrize(("most", "cap"), [(None, 8), (20, 4), (3, 1), (0, 0)])
@spec("MT-9.2-a")
def test_concurrency_without_a_limit_counts_from_what_was_active(
    most: int | None, cap: int
) -> None:
    throttled = TenantPolicy(
        limits=TenantLimits(max_concurrency=most),
        reduction=Reduction(Action.CONCURRENCY, 0.2, had=40),
    )

    assert (throttled.cap, throttled.weight_factor, throttled.effective_weight) == (cap, None, 1)
    assert TenantPolicy(is_suspended=True, reduction=throttled.reduction).cap == 0
