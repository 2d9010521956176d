"""Jobs whose region fails. Spec: contract 23.3, 23.8."""

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from federation.client import CircuitBreaker, Failover, NoHealthyRegion, RegionUnavailable
from federation.domain.meta import FAILOVER_REASON
from tests.federation.conftest import Connect
from tests.federation.stub import Stub, refusal
from tests.spec import spec

Events = list[tuple[str, Mapping[str, Any]]]


def dedupes(stub: Stub) -> list[bool]:
    """Return for each enqueue whether it requested deduplication."""
    return [
        headers.get("ojs-federation-dedupe") == "1"
        for path, headers, _ in stub.sent
        if path.startswith("/ojs/v1/jobs")
    ]


def ready(connect: Connect, three: list[Stub], **members: Any) -> Any:
    """Return a client for which all regions are healthy and eu is preferred next."""
    client = connect(*three, failover=Failover(prefer_regions=("eu", "ap")), **members)
    client.probe()
    return client


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_region_is_passed_over_and_the_next_told_why(
    connect: Connect, three: list[Stub], status: int
) -> None:
    three[0].answers = [refusal(status)]

    result = ready(connect, three).enqueue("t")

    assert (result.region, result.redirects) == ("eu", 1)
    (job,) = three[1].jobs.values()
    assert job["meta"][FAILOVER_REASON] == f"HTTP {status}"
    assert dedupes(three[0]) == dedupes(three[1]) == [True], "so that a repetition is seen"


@spec("FED-8-a")
def test_failover_is_logged_and_told(
    connect: Connect, three: list[Stub], caplog: pytest.LogCaptureFixture
) -> None:
    three[0].answers = [refusal(503)]
    heard: Events = []
    client = ready(connect, three, on_event=lambda name, facts: heard.append((name, facts)))

    with caplog.at_level(logging.WARNING):
        result = client.enqueue("t")

    (record,) = [one for one in caplog.records if one.getMessage() == "ojs.federation.failover"]
    expected = {
        "from_region": "us", "to_region": "eu", "reason": "HTTP 503",
        "federation_id": result.federation_id,
    }  # fmt: skip
    assert {key: getattr(record, key) for key in expected} == expected
    assert heard == [("federation.failover", expected)]


def test_a_lost_answer_is_asked_for_where_the_job_may_be(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].loses = ["answer"]

    result = ready(connect, three).enqueue("t")

    assert (result.region, result.is_duplicate, result.redirects) == ("us", True, 0)
    assert dedupes(three[0]) == [True, True]
    assert three[0].federation_ids() == [result.federation_id]
    assert three[1].enqueues == three[2].enqueues == 0


def test_a_lost_request_is_sent_again_to_the_same_region(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].loses = ["request"]

    result = ready(connect, three).enqueue("t")

    assert (result.region, result.is_duplicate) == ("us", False)
    assert len(three[0].jobs) == 1


def test_only_after_two_lost_answers_the_job_goes_on_and_says_so(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].loses = ["request", "request"]

    result = ready(connect, three).enqueue("t")

    assert result.region == "eu"
    (job,) = three[1].jobs.values()
    assert job["meta"][FAILOVER_REASON] == "ambiguous"
    assert dedupes(three[1]) == [True]


def test_a_lost_answer_stays_in_doubt_when_the_breaker_opens_before_it_is_asked_for(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].loses = ["answer"]

    result = ready(connect, three, circuit_breaker=CircuitBreaker(failure_threshold=1)).enqueue("t")

    assert result.region == "eu"
    (job,) = three[1].jobs.values()
    assert job["meta"][FAILOVER_REASON] == "ambiguous"
    assert three[0].federation_ids() == [result.federation_id], "which is why it says so"


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_5xx_may_come_after_the_job_was_stored_so_the_region_is_asked_again(
    connect: Connect, three: list[Stub], status: int
) -> None:
    three[0].answers = [refusal(status)]

    assert ready(connect, three).enqueue("t").region == "us"
    assert dedupes(three[0]) == [True, True]


def test_a_pinned_job_with_a_lost_answer_goes_nowhere_else(
    connect: Connect, three: list[Stub]
) -> None:
    three[1].loses = ["answer", "answer"]

    with pytest.raises(RegionUnavailable):
        ready(connect, three).enqueue("t", region="eu")

    assert dedupes(three[1]) == [True, True]
    assert three[0].enqueues == three[2].enqueues == 0


def test_at_most_as_many_regions_are_tried_as_is_allowed(
    connect: Connect, three: list[Stub]
) -> None:
    for stub in three:
        stub.answers = [refusal(503)] * 9
    client = connect(*three, failover=Failover(max_redirects=1, prefer_regions=("eu",)))

    with pytest.raises(NoHealthyRegion):
        client.enqueue("t")

    assert [stub.enqueues for stub in three] == [1, 1, 0]


def test_without_failover_one_region_is_tried_but_never_one_that_is_known_to_be_ill(
    connect: Connect, three: list[Stub]
) -> None:
    client = connect(*three, failover=Failover(enabled=False, prefer_regions=("eu",)))
    three[0].answers = [refusal(503)]
    with pytest.raises(NoHealthyRegion):
        client.enqueue("t")
    assert [stub.enqueues for stub in three] == [1, 0, 0]

    three[0].health = (503, {})
    client = connect(*three, failover=Failover(enabled=False, prefer_regions=("eu",)))
    assert client.enqueue("t").region == "eu"


def test_retry_after_of_a_region_is_handed_on(connect: Connect, three: list[Stub]) -> None:
    status, body, _ = refusal(503)
    three[1].answers = [(status, body, {"Retry-After": "17"})]

    with pytest.raises(RegionUnavailable) as refused:
        ready(connect, three).enqueue("t", region="eu")

    assert refused.value.headers == {"Retry-After": "17"}


def test_regions_that_nobody_asked_yet_are_asked_when_the_first_choice_fails(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].answers = [refusal(503)]

    result = connect(*three).enqueue("t")

    assert result.region in {"eu", "ap"}
    assert three[1].probes == three[2].probes == 1


def test_excluded_regions_are_chosen_by_nothing_but_a_pin(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].health = (503, {})
    client = connect(*three, failover=Failover(exclude_regions=("eu",)))

    assert client.enqueue("t").region == "ap"
    assert client.enqueue("t", strategy="overflow").region == "ap"
    assert client.enqueue("t", region="eu").region == "eu"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@spec("FED-7.1")
def test_redirects_are_not_followed(connect: Connect, three: list[Stub], status: int) -> None:
    three[0].answers = [(status, "", {"Location": f"{three[2].url}/ojs/v1/jobs"})]

    assert ready(connect, three).enqueue("t").region == "eu"
    assert three[2].enqueues == 0


@spec("FED-4.2-b")
def test_a_region_that_answers_half_a_json_is_ill(connect: Connect, three: list[Stub]) -> None:
    three[0].health = (200, '{"status": "ok"')

    assert connect(*three).enqueue("t").region != "us"
