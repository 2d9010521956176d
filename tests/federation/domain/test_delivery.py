"""The regions that may have a job while it is being placed. Spec: contract 23.3."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.domain.delivery import Attempt, Delivery, Fate, Report, answered
from federation.domain.errors import MayBeStored, NoHealthyRegion, RegionUnavailable
from federation.domain.exchange import Reply
from federation.domain.meta import GEO_PIN
from federation.domain.routing import Candidate, Decision

IDS = ("us", "eu", "ap")
ID = "01912e4a-7b3c-7def-8a12-abcdef123456"
LOST = Report(Fate.AMBIGUOUS, reason="lost")
AWAY = Report(Fate.NOT_SENT, reason="away")


def decision(*ids: str, strategy: str = "affinity", via: dict[str, str] | None = None) -> Decision:
    """Return a decision for regions in this order."""
    hubs = via or {}
    return Decision(strategy, tuple(Candidate(one, 1.0, "", hubs.get(one)) for one in ids or IDS))


def delivery(*ids: str, in_doubt: tuple[str, ...] = (), **members: Any) -> Delivery:
    """Return a delivery that tries all regions in order."""
    is_bound = members.pop("is_bound", False)
    return Delivery(decision(*ids, **members), 9, ID, in_doubt, is_bound=is_bound)


def next_of(delivered: Delivery) -> Attempt:
    """Return the next attempt, which must exist."""
    found = delivered.next_attempt()
    assert found is not None
    return found


def sent(delivered: Delivery, report: Report) -> None:
    """Make the next attempt and report its end."""
    next_of(delivered)
    delivered.record_report(report)


def test_region_in_doubt_is_named_to_the_next_one() -> None:
    delivered = delivery()
    sent(delivered, LOST)
    sent(delivered, LOST)

    assert (next_of(delivered).region, next_of(delivered).in_doubt) == ("eu", ("us",))
    assert next_of(delivered).failover_reason == "ambiguous"


def test_nobody_is_in_doubt_where_nothing_was_sent() -> None:
    delivered = delivery()
    sent(delivered, AWAY)
    sent(delivered, answered(503))

    assert next_of(delivered).in_doubt == ()
    assert next_of(delivered).failover_reason == "HTTP 503"
    sent(delivered, AWAY)
    assert delivered.failure(1).in_doubt == ()


def test_repetition_that_is_refused_leaves_the_doubt() -> None:
    delivered = delivery()
    sent(delivered, LOST)
    sent(delivered, answered(503))

    assert next_of(delivered).in_doubt == ("us",)


def test_regions_in_doubt_from_before_are_asked_first_the_last_one_first() -> None:
    delivered = delivery(in_doubt=("ap", "eu"))

    assert (next_of(delivered).region, next_of(delivered).in_doubt) == ("ap", ("eu",))
    sent(delivered, AWAY)
    assert (next_of(delivered).region, next_of(delivered).in_doubt) == ("eu", ("ap",))
    sent(delivered, AWAY)
    assert (next_of(delivered).region, next_of(delivered).in_doubt) == ("us", ("ap", "eu"))


def test_bound_job_goes_nowhere_else_and_the_refusal_names_its_region() -> None:
    delivered = delivery(is_bound=True)
    sent(delivered, LOST)
    sent(delivered, LOST)

    assert delivered.next_attempt() is None
    assert not delivered.may_go_on
    refusal = delivered.failure(3)
    assert isinstance(refusal, RegionUnavailable)
    assert refusal.details["region"] == "us"
    assert (refusal.in_doubt, refusal.federation_id) == (("us",), ID)
    assert "us may have stored it" in refusal.message


def test_bound_job_from_before_waits_for_its_region() -> None:
    delivered = delivery("eu", "ap", in_doubt=("us",), is_bound=True)

    assert delivered.next_attempt() is None
    assert delivered.failure(3).details["region"] == "us"


def test_bound_job_goes_on_while_nothing_is_in_doubt() -> None:
    delivered = delivery(is_bound=True)
    sent(delivered, AWAY)

    assert next_of(delivered).region == "eu"


def test_pinned_job_with_a_lost_answer_says_so() -> None:
    delivered = delivery("eu", strategy=GEO_PIN)
    sent(delivered, LOST)
    sent(delivered, LOST)

    refusal = delivered.failure(1)
    assert isinstance(refusal, RegionUnavailable)
    assert refusal.in_doubt == ("eu",)


def test_hub_whose_answer_is_lost_puts_all_in_doubt_that_it_reaches() -> None:
    delivered = delivery("ap", "eu", "us", via={"ap": "hub", "eu": "hub"})
    sent(delivered, LOST)
    sent(delivered, LOST)

    assert (next_of(delivered).region, next_of(delivered).in_doubt) == ("us", ("ap", "hub", "eu"))


def test_router_that_was_asked_names_who_it_does_not_know_of() -> None:
    body = {"error": {"details": {"in_doubt": ["ap", 5]}}}
    delivered = delivery()
    sent(delivered, Reply(503, body, 1.0).report)

    assert next_of(delivered).in_doubt == ("ap",)


def test_503_of_a_server_that_lost_its_database_is_no_answer() -> None:
    body = {"error": {"code": "backend_unavailable", "details": {"outcome": "unknown"}}}

    assert Reply(503, body, 1.0).report.fate is Fate.AMBIGUOUS
    assert Reply(503, {"error": {"details": {}}}, 1.0).report.fate is Fate.BUSY
    assert Reply(503, "<html>", 1.0).report.fate is Fate.BUSY


def test_refusal_before_anything_was_sent_names_who_is_in_doubt() -> None:
    refused = Decision("affinity", refusal=NoHealthyRegion.because([], 1))

    with pytest.raises(NoHealthyRegion) as found:
        Delivery(refused, 9, ID, ("us",))

    assert (found.value.in_doubt, found.value.federation_id) == (("us",), ID)


REPORTS = st.sampled_from([LOST, AWAY, *map(answered, (429, 503, 500, 201, 422))])


@given(
    reports=st.lists(REPORTS, min_size=12, max_size=12),
    before=st.lists(st.sampled_from((*IDS, "gone")), unique=True, max_size=4),
    is_bound=st.booleans(),
)
def test_whoever_may_have_the_job_is_known_to_whoever_is_asked_later(
    reports: list[Report], before: list[str], *, is_bound: bool
) -> None:
    delivered = delivery(in_doubt=tuple(before), is_bound=is_bound)
    lost = dict.fromkeys(before)
    is_answered = False
    while (attempt := delivered.next_attempt()) is not None:
        others = {one for one in lost if one != attempt.region}
        assert set(attempt.in_doubt) == others
        if is_bound and lost:
            assert attempt.region in lost, "in the regions in doubt, or nowhere"
        report = reports.pop()
        is_repeat = attempt.region in lost
        delivered.record_report(report)
        is_answered = report.fate is Fate.ANSWERED
        if report.fate is Fate.AMBIGUOUS and not is_repeat:
            lost[attempt.region] = None

    if not is_answered:
        failure = delivered.failure(1)
        assert isinstance(failure, MayBeStored)
        assert set(failure.in_doubt) == set(lost)
