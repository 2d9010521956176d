"""Detection of noisy tenants. Spec: MT 9.1, contract 21.5."""

from dataclasses import replace
from statistics import fmean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenancy.domain.noise import LEAST_ERROR_RATE, Reason, Rules, Sample, Signal, noisy
from tests.spec import spec

RULES = Rules(
    depth_ratio=10,
    enqueue_ratio=5,
    active_ratio=0.5,
    error_ratio=3,
    min_queued=100,
    min_per_second=1,
    min_active=10,
    min_outcomes=20,
)
SAMPLES = st.lists(
    st.builds(
        Sample,
        st.just(""),
        st.integers(0, 10_000),
        st.integers(0, 500),
        st.integers(0, 500),
        st.integers(0, 20_000),
        st.integers(0, 50),
    ),
    max_size=9,
).map(lambda found: [one._replace(tenant=f"t{n}") for n, one in enumerate(found)])


def reasons(*samples: Sample, rules: Rules = RULES) -> dict[str, list[Reason]]:
    """Return the noisy tenants with their reasons."""
    found = noisy(samples, rules)
    return {tenant: [one.reason for one in signals] for tenant, signals in found.items()}


@pytest.mark.parametrize(
    ("one", "others", "reason"),
    [
        (Sample("a", queued=101), [10], Reason.QUEUE_DEPTH),
        (Sample("a", queued=101), [0, 10, 90_000], Reason.QUEUE_DEPTH),
        (Sample("a", queued=100), [10], None),
        (Sample("a", queued=99), [0], None),
        (Sample("a", queued=100), [0], Reason.QUEUE_DEPTH),
    ],
)
@spec("MT-9.1-a")
def test_depth_is_compared_with_the_median_of_the_others(
    one: Sample, others: list[int], reason: Reason | None
) -> None:
    found = reasons(one, *(Sample(f"b{n}", queued=jobs) for n, jobs in enumerate(others)))

    assert found.get("a", []) == [reason] * (reason is not None)


@pytest.mark.parametrize(
    ("enqueued", "others", "is_noisy"),
    [(301, [60], True), (300, [60], False), (601, [60, 180], True), (600, [60, 180], False),
     (59, [0], False), (60, [0], True)],
)  # fmt: skip
@spec("MT-9.1-a")
def test_enqueue_rate_is_compared_with_the_mean_of_the_others(
    enqueued: int, others: list[int], is_noisy: bool
) -> None:
    rest = (Sample(f"b{n}", enqueued=jobs) for n, jobs in enumerate(others))

    found = reasons(Sample("a", enqueued=enqueued), *rest)

    assert found == ({"a": [Reason.ENQUEUE_RATE]} if is_noisy else {})


@pytest.mark.parametrize(
    ("active", "other", "is_noisy"), [(11, 10, True), (10, 10, False), (9, 0, False), (10, 0, True)]
)
@spec("MT-9.1-a")
def test_active_jobs_are_compared_with_all_of_them(active: int, other: int, is_noisy: bool) -> None:
    found = reasons(Sample("a", active=active), Sample("b", active=other))

    assert found == ({"a": [Reason.ACTIVE]} if is_noisy else {})


@pytest.mark.parametrize(
    ("done", "failed", "is_noisy"),
    [(60, 40, True), (70, 30, False), (10, 9, False), (11, 9, True)],
)
@spec("MT-9.1-a")
def test_error_rate_is_compared_with_the_mean_of_those_with_outcomes(
    done: int, failed: int, is_noisy: bool
) -> None:
    others = Sample("b", completed=90, failed=10), Sample("c", enqueued=1)

    found = reasons(Sample("a", completed=done, failed=failed), *others)

    assert found == ({"a": [Reason.ERROR_RATE]} if is_noisy else {})


@spec("MT-9.1-a")
def test_few_failures_are_no_noise_where_nobody_else_fails() -> None:
    others = Sample("b", completed=100)

    assert not reasons(Sample("a", completed=96, failed=4), others)
    assert reasons(Sample("a", completed=95, failed=5), others) == {"a": [Reason.ERROR_RATE]}
    assert not reasons(Sample("a", failed=100), Sample("b", enqueued=1))


@spec("MT-9.1-a")
def test_nobody_is_noisy_alone() -> None:
    assert not reasons(Sample("a", 90_000, 0, 500, 90_000, 500))


@spec("MT-9.1-a")
def test_signals_hold_what_was_measured_in_the_order_of_the_contract() -> None:
    found = noisy([Sample("a", 600, 50, 50, 500, 30), Sample("b", 60, 99, 1, 7, 10)], RULES)

    assert found == {
        "a": (
            Signal(Reason.QUEUE_DEPTH, 500, 7, 10),
            Signal(Reason.ENQUEUE_RATE, 10, 1, 5),
            Signal(Reason.ACTIVE, 30, 40, 0.5),
            Signal(Reason.ERROR_RATE, 0.5, 0.01, 3),
        )
    }


@pytest.mark.parametrize(
    ("rule", "value"),
    [("depth_ratio", 100), ("min_queued", 1000), ("enqueue_ratio", 100), ("min_per_second", 100),
     ("active_ratio", 1), ("min_active", 100), ("error_ratio", 100), ("min_outcomes", 1000)],
)  # fmt: skip
@spec("MT-9.1-a")
def test_every_threshold_is_configurable(rule: str, value: int) -> None:
    samples = Sample("a", 600, 50, 50, 500, 30), Sample("b", 60, 99, 1, 7, 10)

    changed = reasons(*samples, rules=replace(RULES, **{rule: value}))

    assert len(changed["a"]) == 3


@given(SAMPLES)
def test_a_tenant_is_judged_as_if_the_others_were_looked_at_one_by_one(
    samples: list[Sample],
) -> None:
    expected: dict[str, set[Reason]] = {}
    for one in samples if len(samples) > 1 else []:
        others = [other for other in samples if other is not one]
        failing = [other.error_rate for other in others if other.outcomes]
        checks = {
            Reason.QUEUE_DEPTH: one.queued >= 100
            and one.queued > 10 * median(other.queued for other in others),
            Reason.ENQUEUE_RATE: one.enqueued >= 60
            and one.enqueued * len(others) > 5 * sum(other.enqueued for other in others),
            Reason.ACTIVE: one.active >= 10
            and 2 * one.active > sum(other.active for other in samples),
            Reason.ERROR_RATE: one.outcomes >= 20
            and one.error_rate >= LEAST_ERROR_RATE
            and bool(failing)
            and one.error_rate > 3 * fmean(failing) + 1e-9,
        }
        if said := {reason for reason, holds in checks.items() if holds}:
            expected[one.tenant] = said

    found = {tenant: set(said) for tenant, said in reasons(*samples).items()}

    # sums of floats may differ in the last place, so either result is right near a threshold
    assert found.keys() | expected.keys() == found.keys()
    for tenant, said in found.items():
        extra = said - expected.get(tenant, set())
        assert expected.get(tenant, set()) <= said
        for signal in noisy(samples, RULES)[tenant]:
            near = signal.threshold * signal.compared_with
            assert signal.reason not in extra or signal.value == pytest.approx(near, rel=1e-3)


@given(SAMPLES, st.randoms())
def test_the_order_of_tenants_does_not_matter(samples: list[Sample], chance: object) -> None:
    before = noisy(samples, RULES)
    chance.shuffle(samples)  # type: ignore[attr-defined]  # a random.Random

    assert set(noisy(samples, RULES)) == set(before)
