"""Selection of versions and workers by routing rules: pure functions. Spec: contract 22.4."""

from collections import Counter
from hashlib import sha256
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec import spec
from versioning.domain.canary import (
    Key,
    Mode,
    OnNoWorker,
    Rules,
    Share,
    admits,
    bucket,
    chosen,
    collapsed,
    newest,
    ramped,
    stable,
    waits_for,
)
from versioning.domain.declaration import ALL, Handles
from versioning.domain.version import Version, parse_range, parse_version

TYPE = "invoice.generate"


def shares(**weights: float) -> tuple[Share, ...]:
    """Return rules such as v2_0=10, v1_0=90."""
    names = {name: name[1:].replace("_", ".") for name in weights}
    return tuple(
        Share(names[name], parse_version(names[name]), weight) for name, weight in weights.items()
    )


def rules(mode: Mode = Mode.COMPATIBLE, **weights: float) -> Rules:
    return Rules(7, shares(**weights), mode)


def v(text: str) -> Version:
    return parse_version(text)


def ids(number: int) -> list[str]:
    """Return ids in the form of UUIDv7: the first half is a time."""
    return [str(UUID(int=(0x0190_0000_0000_7000 << 64) + (2 << 62) + n)) for n in range(number)]


def worker(versions: str) -> Handles:
    return Handles({TYPE: (parse_range(versions),)})


@spec("VER-10.1-a")
def test_a_share_is_the_hash_of_id_and_revision() -> None:
    job = "0190a5b0-0000-7000-8000-000000000001"
    digest = sha256(f"{job}:42".encode()).hexdigest()

    assert bucket(job, 42) == int(digest[:8], 16) / 2**32
    assert bucket(job, 42) != bucket(job, 43)


@spec("VER-10.1-a")
def test_weights_are_walked_in_the_order_of_the_rules() -> None:
    three = shares(v3_0=1, v1_0=0, v2_0=3)

    assert [chosen(three, place) for place in (0.0, 0.2499, 0.25, 0.9999999)] == [
        v("3.0"), v("3.0"), v("2.0"), v("2.0"),
    ]  # fmt: skip


@pytest.mark.parametrize("weights", [(10, 90), (1, 4), (0.5, 99.5), (1, 1), (0, 3)])
@spec("VER-10.1-a")
def test_shares_are_the_weights_to_within_a_point(weights: tuple[float, float]) -> None:
    found = rules(v2_0=weights[0], v1_0=weights[1])

    drawn = Counter(found.drawn(job) for job in ids(40_000))

    share = 100 * drawn[v("2.0")] / 40_000
    assert abs(share - 100 * weights[0] / sum(weights)) < 1


@spec("VER-10.1-a")
def test_a_thousand_jobs_of_ten_percent() -> None:
    found = rules(v2_0=10, v1_0=90)

    drawn = [found.drawn(job) for job in ids(1_000)]

    assert 70 <= drawn.count(v("2.0")) <= 130
    assert drawn == [rules(v2_0=10, v1_0=90).drawn(job) for job in ids(1_000)]


@spec("VER-10.1-a")
def test_a_new_revision_draws_anew() -> None:
    found = rules(v2_0=1, v1_0=1)
    later = Rules(8, found.shares)

    both = Counter((found.drawn(job), later.drawn(job)) for job in ids(1_000))

    assert len(both) == 4
    assert min(both.values()) > 150


@given(
    st.lists(st.floats(0, 1_000_000), min_size=1, max_size=20).filter(lambda found: sum(found) > 0),
    st.floats(0, 1, exclude_max=True),
)
@spec("VER-10.1-a")
def test_whatever_the_weights_one_above_nothing_is_drawn(
    weights: list[float], place: float
) -> None:
    some = tuple(Share(n, Version(n), weight) for n, weight in enumerate(weights))

    assert some[chosen(some, place).major].weight > 0


CASES = [  # the job's version, the target, whether the rules may send it there
    (None, "2.0", True),
    ("2.0", "2.0", True),
    ("2.0", "2.5", True),
    ("2.5", "2.0", False),
    ("1.0", "2.0", False),
    ("1.9", "1.10", True),
]


@pytest.mark.parametrize(("own", "target", "fits"), CASES)
@spec("contract 22.4")
def test_compatible_is_the_same_major_and_no_lower_minor(
    own: str | None, target: str, *, fits: bool
) -> None:
    version = None if own is None else v(own)

    assert (rules(v2_0=1).if_fitting(version, v(target)) is not None) is fits
    assert rules(Mode.OVERRIDE, v2_0=1).if_fitting(version, v(target)) == v(target)


@spec("contract 22.4")
def test_or_what_the_registry_lists() -> None:
    listed = Rules(7, shares(v2_0=1), compatible={v("2.0"): frozenset({v("1.4")})})

    assert listed.assigned("x", v("1.4")) == v("2.0")
    assert listed.assigned("x", v("1.3")) is None


# mode, the job's version, target, versions of the worker, whether the worker gets the job
ADMITTED = [
    (Mode.COMPATIBLE, None, "2.0", "2.0", True),
    (Mode.COMPATIBLE, None, "2.0", "*", True),
    (Mode.COMPATIBLE, None, "2.0", "1.0", False),
    # the worker must accept the job's own version, too
    (Mode.COMPATIBLE, "2.0", "2.1", "2.1", False),
    (Mode.COMPATIBLE, "2.0", "2.1", ">=2.0 <3.0", True),
    (Mode.COMPATIBLE, "1.0", "2.0", "1.0", True),  # not compatible: as without rules
    (Mode.COMPATIBLE, "1.0", "2.0", "2.0", False),
    (Mode.OVERRIDE, "1.0", "2.0", "2.0", True),
    (Mode.OVERRIDE, "1.0", "2.0", "1.0", False),
    (Mode.OVERRIDE, "1.0", "2.0", ">=1.0", True),
]


@pytest.mark.parametrize(("mode", "own", "target", "versions", "is_handed"), ADMITTED)
@spec("contract 22.4")
def test_who_is_handed_a_job_that_was_sent(
    mode: Mode, own: str | None, target: str, versions: str, *, is_handed: bool
) -> None:
    both = rules(mode, v2_0=1, v2_1=1, v1_0=1)
    key = Key(TYPE, None if own is None else v(own), v(target))

    assert admits(worker(versions), key, both, has_fallen_back=False) is is_handed
    assert admits(ALL, key, both, has_fallen_back=False)


@pytest.mark.parametrize("on_no_worker", list(OnNoWorker))
@spec("contract 22.4")
def test_a_fallback_opens_a_route_to_those_who_accept_the_own_version(
    on_no_worker: OnNoWorker,
) -> None:
    both = Rules(7, shares(v2_1=1, v2_0=1), on_no_worker=on_no_worker)
    key = Key(TYPE, v("2.0"), v("2.1"))
    opens = on_no_worker is OnNoWorker.FALLBACK

    assert not admits(worker("2.0"), key, both, has_fallen_back=False)
    assert admits(worker("2.0"), key, both, has_fallen_back=True) is opens
    assert not admits(worker("1.0"), key, both, has_fallen_back=True)


def test_rules_that_leave_one_version_count_before_any_job_is_moved() -> None:
    one = rules(v1_0=100, v2_0=0)
    key = Key(TYPE, None, v("2.0"))

    assert admits(worker("1.0"), key, one, has_fallen_back=False)
    assert not admits(worker("2.0"), key, one, has_fallen_back=False)
    assert (waits_for(key, one), waits_for(key, None)) == (v("1.0"), None)


def test_a_version_that_is_in_the_rules_no_more_gives_its_jobs_to_the_lowest() -> None:
    both = rules(v3_0=1, v2_0=1)

    assert both.resolved(None, v("1.0")) == v("2.0")
    assert both.resolved(None, v("3.0")) == v("3.0")
    assert both.resolved(None, None) is None
    # does not fit, so the job's own version counts
    assert both.resolved(v("1.0"), v("1.0")) is None


def test_without_rules_jobs_go_by_their_own_versions() -> None:
    assert admits(worker("1.0"), Key(TYPE, v("1.0"), v("2.0")), None, has_fallen_back=False)
    assert not admits(worker("2.0"), Key(TYPE, v("1.0"), v("2.0")), None, has_fallen_back=False)
    assert admits(worker("9.0"), Key(TYPE, None, v("2.0")), None, has_fallen_back=False)


@spec("VER-10.2-a")
def test_a_rollback_sends_all_to_the_next_lower_version() -> None:
    three = shares(v1_0=50, v3_0=10, v2_5=40)

    assert newest(three).version == v("3.0")
    found = stable(three)
    assert found is not None
    assert found.version == v("2.5")
    assert collapsed(three) == (Share("2.5", v("2.5"), 100),)
    assert collapsed(shares(v1_0=1)) is None


def test_a_step_leaves_the_others_their_proportions() -> None:
    three = shares(v1_0=30, v3_0=0, v2_0=90)

    found = {str(one.version): one.weight for one in ramped(three, 20)}

    assert found == {"1.0": 20, "3.0": 20, "2.0": 60}
    whole = ramped(three, 100)
    assert [one.weight for one in whole] == [0, 100, 0]
    assert [one.weight for one in ramped(whole, 25)] == [0, 25, 75]
