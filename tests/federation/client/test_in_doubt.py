"""Jobs in doubt: a region may have stored them without an answer. Spec: contract 23.3, ADR 19."""

from typing import Any

import pytest

from federation.client import (
    Enqueued,
    Failover,
    InDoubt,
    NewJob,
    NoHealthyRegion,
    RegionRefused,
    RegionUnavailable,
    Topology,
)
from federation.domain.meta import IN_DOUBT
from tests.federation.conftest import Connect
from tests.federation.stub import Stub, refusal

ORDER = Failover(prefer_regions=("eu", "ap"))
BOUND = Failover(prefer_regions=("eu", "ap"), in_doubt=InDoubt.REFUSE)


def ready(connect: Connect, three: list[Stub], failover: Failover = ORDER) -> Any:
    """Return a client for which all regions are healthy."""
    client = connect(*three, failover=failover)
    client.probe()
    return client


def doubts(stub: Stub) -> list[Any]:
    """Return the regions in doubt that each stored job names."""
    return [job["meta"].get(IN_DOUBT) for job in stub.jobs.values()]


def test_job_that_goes_on_says_who_may_have_it(connect: Connect, three: list[Stub]) -> None:
    three[0].loses = ["answer", "request"]

    result = ready(connect, three).enqueue("t")

    assert (result.region, doubts(three[1]), doubts(three[0])) == ("eu", [["us"]], [None])


def test_job_of_a_region_that_was_not_reached_is_not_in_doubt(
    connect: Connect, three: list[Stub]
) -> None:
    client = ready(connect, three)
    three[0].stop()

    assert client.enqueue("t").region == "eu"
    assert doubts(three[1]) == [None]


def test_503_that_says_nothing_of_the_outcome_is_asked_again(
    connect: Connect, three: list[Stub]
) -> None:
    details = {"error": {"code": "backend_unavailable", "details": {"outcome": "unknown"}}}
    three[0].answers = [(503, details, {})]

    assert ready(connect, three).enqueue("t").region == "us"
    assert three[0].enqueues == 2


def test_error_names_who_may_have_the_job_and_a_retry_makes_no_second_one(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].loses = ["answer", "request"]
    three[1].answers, three[2].answers = [refusal(503)], [refusal(503)]
    client = ready(connect, three)

    with pytest.raises(NoHealthyRegion) as refused:
        client.enqueue("t")

    problem = refused.value
    assert problem.in_doubt == ("us",)
    three[0].health = (200, {"status": "ok"})
    again = client.enqueue("t", federation_id=problem.federation_id, in_doubt=problem.in_doubt)
    assert (again.region, again.is_duplicate) == ("us", True)
    assert [len(one.jobs) for one in three] == [1, 0, 0]


def test_retry_without_the_region_goes_elsewhere_and_names_it(
    connect: Connect, three: list[Stub]
) -> None:
    client = ready(connect, three)
    three[0].stop()

    result = client.enqueue("t", in_doubt=["us"])

    assert (result.region, doubts(three[1])) == ("eu", [["us"]])


def test_with_refuse_a_job_in_doubt_goes_nowhere_else(connect: Connect, three: list[Stub]) -> None:
    three[0].loses = ["answer", "request"]
    client = ready(connect, three, BOUND)

    with pytest.raises(RegionUnavailable) as refused:
        client.enqueue("t")

    problem = refused.value
    assert (problem.in_doubt, problem.retryable) == (("us",), True)
    assert three[1].enqueues == three[2].enqueues == 0
    again = client.enqueue("t", federation_id=problem.federation_id, in_doubt=problem.in_doubt)
    assert (again.region, again.is_duplicate) == ("us", True)


def test_with_refuse_a_region_that_was_not_reached_is_left(
    connect: Connect, three: list[Stub]
) -> None:
    client = ready(connect, three, BOUND)
    three[0].stop()

    assert client.enqueue("t").region == "eu"


def test_pinned_job_with_a_lost_answer_names_its_region(
    connect: Connect, three: list[Stub]
) -> None:
    three[1].loses = ["answer", "answer"]

    with pytest.raises(RegionUnavailable) as refused:
        ready(connect, three).enqueue("t", region="eu")

    assert refused.value.in_doubt == ("eu",)


def test_batch_whose_answer_is_lost_twice_names_the_region_in_each_job(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].loses = ["answer", "request"]

    result = ready(connect, three).enqueue_batch([NewJob("a"), NewJob("b")])

    assert [one.region for one in result.enqueued] == ["eu", "eu"]
    assert doubts(three[1]) == [["us"], ["us"]]


def test_hub_that_refuses_jobs_of_a_batch_does_so_one_by_one(
    connect: Connect, three: list[Stub]
) -> None:
    us, eu, ap = three
    eu.hub_target = "ap"
    eu.hub_refuses = {1: refusal(422), 2: refusal(503)}
    regions = [us, eu.region(is_hub=True), ap]
    jobs = [NewJob("t", [n], region="ap") for n in range(4)]

    result = connect(*regions, topology=Topology.HUB_SPOKE).enqueue_batch(jobs)

    stored, refused, away, last = result.results
    assert isinstance(stored, Enqueued)
    assert isinstance(last, Enqueued)
    assert not isinstance(refused, Enqueued)
    assert isinstance(refused.error, RegionRefused)
    assert refused.error.status == 422
    assert not isinstance(away, Enqueued)
    assert isinstance(away.error, RegionUnavailable), "what it had no room for may be tried again"
