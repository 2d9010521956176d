"""Batches: one request for each region. Spec: contract 23.2."""

import pytest

from federation.client import (
    Enqueued,
    Failover,
    InvalidFederationMeta,
    NewJob,
    RegionRefused,
    RegionUnavailable,
    Topology,
)
from tests.federation.conftest import Connect
from tests.federation.stub import Stub, refusal


def regions(results: object) -> list[str]:
    """Return the region of each job, or the name of its error."""
    return [
        one.region if isinstance(one, Enqueued) else type(one.error).__name__
        for one in results  # type: ignore[attr-defined]
    ]


def test_jobs_go_in_one_request_for_each_region(connect: Connect, three: list[Stub]) -> None:
    jobs = [NewJob("t", [n], region=("us", "eu", None)[n % 3]) for n in range(9)]

    result = connect(*three).enqueue_batch(jobs)

    assert regions(result.results) == ["us", "eu", "us"] * 3
    assert [job["args"] for job in three[1].jobs.values()] == [[1], [4], [7]]
    assert [stub.enqueues for stub in three] == [1, 1, 0]
    for n, one in enumerate(result.enqueued):
        assert three[n % 3 == 1].jobs[one.job_id]["args"] == [n], "in their order"


def test_an_empty_batch_asks_nobody(connect: Connect, three: list[Stub]) -> None:
    assert connect(*three).enqueue_batch([]).results == []
    assert sum(stub.requests for stub in three) == 0


def test_problems_of_single_jobs_leave_the_others(connect: Connect, three: list[Stub]) -> None:
    three[1].health = (503, {})

    result = connect(*three).enqueue_batch(
        [NewJob("a"), NewJob("b", region="eu"), NewJob("c", strategy="by-mood"), NewJob("d")]
    )

    assert regions(result.results) == ["us", "RegionUnavailable", "InvalidFederationMeta", "us"]
    assert [type(one.error) for one in result.failed] == [RegionUnavailable, InvalidFederationMeta]
    assert len(three[0].jobs) == 2


def test_a_batch_that_a_region_refuses_is_stored_nowhere(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].answers = [refusal(422)]

    result = connect(*three).enqueue_batch([NewJob("a"), NewJob("b"), NewJob("c", region="eu")])

    assert regions(result.results) == ["RegionRefused", "RegionRefused", "eu"]
    assert all(isinstance(one.error, RegionRefused) for one in result.failed)


def test_a_batch_fails_over_as_a_whole_and_pinned_jobs_stay(
    connect: Connect, three: list[Stub]
) -> None:
    three[0].answers = [refusal(503)]
    jobs = [NewJob("a"), NewJob("b", region="us"), NewJob("c")]

    result = connect(*three, failover=Failover(prefer_regions=("eu",))).enqueue_batch(jobs)

    assert regions(result.results) == ["eu", "RegionUnavailable", "eu"]
    assert [one.redirects for one in result.enqueued] == [1, 1]


def test_a_lost_answer_to_a_batch_doubles_nothing(connect: Connect, three: list[Stub]) -> None:
    three[0].loses = ["answer"]

    result = connect(*three).enqueue_batch([NewJob("t", [n]) for n in range(5)])

    assert len(result.enqueued) == len(three[0].jobs) == 5
    assert len(set(three[0].federation_ids())) == 5


def test_a_batch_beyond_the_hub_is_the_hubs_to_place(connect: Connect, three: list[Stub]) -> None:
    us, eu, ap = three
    eu.hub_target = "ap"
    client = connect(us, eu.region(is_hub=True), ap, topology=Topology.HUB_SPOKE)

    result = client.enqueue_batch([NewJob("a", region="ap"), NewJob("b", region="ap"), NewJob("c")])

    assert regions(result.results) == ["ap", "ap", "us"]
    assert eu.asked["POST /ojs/v1/federation/jobs/batch"] == 1
    assert ap.enqueues == 0


def test_what_the_hub_refuses_of_a_batch_is_told_by_job(
    connect: Connect, three: list[Stub]
) -> None:
    us, eu, ap = three
    error = {"error": {"code": "queue_paused", "message": "no"}, "status": 422}
    eu.answers = [(207, {"results": [{"job": {"id": "j1"}}, error]}, {})]
    client = connect(us, eu.region(is_hub=True), ap, topology=Topology.HUB_SPOKE)

    result = client.enqueue_batch([NewJob("a", region="ap"), NewJob("b", region="ap")])

    assert regions(result.results) == ["ap", "RegionRefused"]
    (failed,) = result.failed
    assert isinstance(failed.error, RegionRefused)
    assert failed.error.code == "queue_paused"


@pytest.mark.parametrize("answer", [{"jobs": []}, {"jobs": [1, 2]}, [], "no"])
def test_answers_that_do_not_fit_the_batch_are_told(
    connect: Connect, three: list[Stub], answer: object
) -> None:
    three[0].answers = [(201, answer, {})]

    result = connect(*three).enqueue_batch([NewJob("a"), NewJob("b")])

    assert regions(result.results) == ["UnexpectedAnswer", "UnexpectedAnswer"]
