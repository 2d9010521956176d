"""The decision whether handlers of old versions may be removed. Spec: job-versioning 9.1."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from versioning.domain.removal import (
    FORCES,
    Coming,
    Jobs,
    Looked,
    Removal,
    Safe,
    Use,
    Why,
    decide,
    parse_removal,
)
from versioning.domain.version import Version

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUIET = timedelta(minutes=5)
WHOLE = Looked(NOW, None, QUIET)
NONE = Use(None)
STATES = ("available", "active", "scheduled", "retryable", "pending")

jobs = some.builds(
    Jobs,
    **{state: some.integers(0, 2) for state in STATES},
    at_least=some.frozensets(some.sampled_from(STATES)),
)
times = some.none() | some.integers(0, 600).map(lambda s: NOW - timedelta(seconds=s))
uses = some.lists(
    some.builds(
        Use,
        version=some.builds(Version, some.integers(0, 3), some.integers(0, 2)),
        jobs=jobs,
        dead_letters=some.integers(0, 2),
        workers=some.integers(0, 2),
        last_sent_at=times,
    ),
    max_size=5,
    unique_by=lambda use: use.version,
)
bare = some.builds(Use, version=some.none(), jobs=jobs)
looks = some.builds(Looked, now=some.just(NOW), since=times, quiet=some.just(QUIET))


@given(uses=uses, bare=bare, looked=looks)
def test_yes_is_said_only_of_what_was_counted_to_the_end_and_is_not_there(
    uses: list[Use], bare: Use, looked: Looked
) -> None:
    found = decide("1.x", uses, bare, looked)

    going = [use for use in uses if use.version is not None and use.version.major == 1]
    left = any(use.jobs.live or looked.is_recent(use.last_sent_at) for use in going)
    is_whole = all(not use.jobs.at_least for use in (*going, bare)) and (
        looked.reaches or not going
    )
    if left or bare.jobs.live:
        assert found.safe is Safe.NO
    if found.safe is Safe.YES:
        assert (left, bare.jobs.live, is_whole, bool(uses)) == (False, 0, True, True)
    assert (found.safe is Safe.YES) or found.reasons
    assert all(reason.message for reason in found.reasons)


@given(uses=uses, bare=bare, looked=looks)
def test_the_answer_is_the_worst_that_its_reasons_force_and_they_come_first(
    uses: list[Use], bare: Use, looked: Looked
) -> None:
    found = decide("<2.0", uses, bare, looked)

    order = [Safe.NO, Safe.UNKNOWN, Safe.YES]
    ranks = [order.index(reason.forces) for reason in found.reasons]
    assert ranks == sorted(ranks)
    assert found.safe is (order[min(ranks)] if ranks else Safe.YES)


@given(uses=uses, bare=bare, looked=looks)
def test_more_jobs_never_make_a_removal_safer(uses: list[Use], bare: Use, looked: Looked) -> None:
    more = [*uses, Use(Version(1, 9), Jobs(active=1))]

    assert decide("1.x", more, bare, looked).safe is Safe.NO


def codes(found: Removal) -> list[Why]:
    return [reason.why for reason in found.reasons]


ONE, TWO = Use(Version(1, 0)), Use(Version(2, 0), Jobs(available=3), workers=1)


@pytest.mark.parametrize(
    ("uses", "bare", "looked", "expected"),
    [
        ([ONE, TWO], NONE, WHOLE, []),
        ([Use(Version(1, 0), Jobs(scheduled=1)), TWO], NONE, WHOLE, [Why.JOBS_LEFT]),
        ([Use(Version(1, 0), last_sent_at=NOW), TWO], NONE, WHOLE, [Why.STILL_SENT]),
        ([ONE, Use(Version(2, 0), Jobs(active=1))], NONE, WHOLE, [Why.NOT_EXPANDED]),
        ([ONE, Use(Version(2, 0), is_routed=True)], NONE, WHOLE, [Why.NOT_EXPANDED]),
        ([Use(Version(1, 0), is_routed=True), TWO], NONE, WHOLE, [Why.STILL_ROUTED]),
        ([ONE, Use(Version(2, 0), Jobs(active=1), unheard=1)], NONE, WHOLE, [Why.UNHEARD]),
        ([ONE, Use(Version(2, 0))], NONE, WHOLE, []),
        ([ONE, TWO], Use(None, Jobs(active=1)), WHOLE, [Why.UNVERSIONED_LEFT]),
        (
            [ONE, TWO],
            Use(None, Jobs(at_least=frozenset({"available"}))),
            WHOLE,
            [Why.UNVERSIONED_NOT_COUNTED],
        ),
        (
            [Use(Version(1, 0), Jobs(at_least=frozenset({"scheduled"}))), TWO],
            NONE,
            WHOLE,
            [Why.NOT_COUNTED],
        ),
        ([ONE, TWO], NONE, Looked(NOW, NOW, QUIET), [Why.SENDS_UNKNOWN]),
        ([ONE, TWO], NONE, Looked(NOW, NOW - QUIET, QUIET), []),
        ([Use(Version(1, 0), dead_letters=2), TWO], NONE, WHOLE, [Why.DEAD_LETTERS]),
        ([TWO], NONE, WHOLE, [Why.NO_SUCH_VERSION]),
        ([], NONE, WHOLE, [Why.NEVER_SEEN]),
    ],
)
def test_each_reason(uses: list[Use], bare: Use, looked: Looked, expected: list[Why]) -> None:
    assert codes(decide("1.x", uses, bare, looked)) == expected


def test_every_reason_says_what_it_allows() -> None:
    assert FORCES.keys() == set(Why)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("1.x", [(1, 0), (1, 99)], [(0, 9), (2, 0)]),
        ("1.0", [(1, 0)], [(1, 1)]),
        ("<2.0", [(0, 0), (1, 9)], [(2, 0)]),
        ("*", [(0, 0), (7, 0)], []),
    ],
)
def test_a_removal_is_a_major_or_a_range(
    text: str, inside: list[tuple[int, int]], outside: list[tuple[int, int]]
) -> None:
    found = parse_removal(text)

    assert all(Version(*one) in found for one in inside)
    assert not any(Version(*one) in found for one in outside)


@pytest.mark.parametrize("text", ["", "x", "1.x.x", "01.x", "^1.0", "1.x 2.x", "\x00", "9" * 400])
def test_another_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_removal(text)


@pytest.mark.parametrize(
    ("going", "bare", "cut", "why", "safe"),
    [
        ((Coming("schedules", 2),), (), (), [Why.WILL_BE_SENT], Safe.NO),
        ((Coming("schedules", 0, 2),), (), (), [Why.RESTING], Safe.YES),
        ((Coming("schedules", 1, 1), Coming("steps", 1)), (), (),
         [Why.WILL_BE_SENT, Why.RESTING], Safe.NO),
        ((), (Coming("schedules", 1),), (), [Why.UNVERSIONED_WILL_BE_SENT], Safe.NO),
        ((), (), ("schedules",), [Why.COMING_NOT_COUNTED], Safe.UNKNOWN),
        ((Coming("schedules", 1),), (), ("schedules",), [Why.WILL_BE_SENT], Safe.NO),
        ((), (Coming("steps", 1),), ("steps",), [Why.UNVERSIONED_WILL_BE_SENT], Safe.NO),
    ],
)  # fmt: skip
def test_what_will_be_sent_counts_as_what_was(
    going: tuple[Coming, ...],
    bare: tuple[Coming, ...],
    cut: tuple[str, ...],
    why: list[Why],
    safe: Safe,
) -> None:
    use = Use(Version(1), coming=going)

    found = decide("1.x", [use], Use(None, coming=bare), Looked(NOW, None, QUIET, cut))

    assert ([reason.why for reason in found.reasons], found.safe) == (why, safe)


def test_a_version_that_stays_and_will_be_sent_needs_a_worker() -> None:
    uses = [Use(Version(1)), Use(Version(2), coming=(Coming("schedules", 1),))]

    assert [one.why for one in decide("1.x", uses, NONE, WHOLE).reasons] == [Why.NOT_EXPANDED]


def test_all_senders_are_said_in_one_sentence() -> None:
    use = Use(Version(1), coming=(Coming("schedules", 2), Coming("steps of workflows", 1, 4)))

    first, second = decide("1.0", [use], NONE, WHOLE).reasons

    assert first.message == "2 schedules and 1 step of workflows will send 1.0"
    assert second.message == "4 paused steps of workflows would send 1.0"


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        (Jobs(active=1), "1 active job of 1.0 is left"),
        (Jobs(available=1, active=1), "1 available and 1 active jobs of 1.0 are left"),
        (
            Jobs(available=1, active=6, retryable=1000),
            "1 available, 6 active and 1,000 retryable jobs of 1.0 are left",
        ),
        (
            Jobs(active=1, at_least=frozenset({"active"})),
            "at least 1 active job of 1.0 is left",
        ),
    ],
)
def test_remaining_jobs_are_said_as_a_list(jobs: Jobs, message: str) -> None:
    found = decide("1.0", [Use(Version(1), jobs)], NONE, WHOLE)

    assert found.reasons[0].message == message
