"""Lookup and cancel of jobs in any region. Spec: contract 23.2."""

import pytest

from federation.client import (
    NoHealthyRegion,
    NotFound,
    RegionRefused,
    RegionUnavailable,
    UnknownRegion,
)
from jobs.domain.wire.ids import new_id
from tests.federation.conftest import Connect
from tests.federation.stub import Stub


def test_a_job_is_found_in_the_region_that_has_it(connect: Connect, three: list[Stub]) -> None:
    client = connect(*three)
    made = client.enqueue("t", region="ap")

    found = client.get_job(made.job_id)

    assert (found.region, found.job["id"]) == ("ap", made.job_id)
    assert client.get_job(made.job_id, "ap").region == "ap"
    with pytest.raises(NotFound):
        client.get_job(made.job_id, "eu")


def test_a_job_is_cancelled_where_it_is(connect: Connect, three: list[Stub]) -> None:
    client = connect(*three)
    made = client.enqueue("t", region="ap")

    assert client.cancel(made.job_id).job["state"] == "cancelled"
    assert three[2].asked[f"DELETE /ojs/v1/jobs/{made.job_id}"] == 1


def test_no_region_has_it(connect: Connect, three: list[Stub]) -> None:
    with pytest.raises(NotFound, match="no region has a job"):
        connect(*three).get_job(new_id())
    with pytest.raises(NotFound):
        connect(*three).get_job("../../admin")
    with pytest.raises(UnknownRegion):
        connect(*three).get_job(new_id(), "mars")


def test_a_silent_region_may_have_it(connect: Connect, three: list[Stub]) -> None:
    three[2].stop()
    client = connect(*three)

    with pytest.raises(NoHealthyRegion, match="ap: "):
        client.get_job(new_id())
    with pytest.raises(NoHealthyRegion):
        client.cancel(new_id(), "ap")


def test_a_federation_id_leads_to_the_job_where_servers_keep_them(
    connect: Connect, three: list[Stub]
) -> None:
    client = connect(*three)
    made = client.enqueue("t", region="ap")
    three[0].jobs[made.federation_id] = {}  # this path answers with an object that is no job
    told = {"winner": {"origin_region": "ap", "job_id": made.job_id}}
    three[0].federated[made.federation_id] = told

    found = client.get_job(made.federation_id)

    assert (found.region, found.job["id"]) == ("ap", made.job_id)


def test_what_a_region_refuses_to_cancel_is_told(connect: Connect, three: list[Stub]) -> None:
    client = connect(*three)
    made = client.enqueue("t")
    three[0].deletes = (409, {"error": {"code": "conflict", "message": "it is completed"}})

    with pytest.raises(RegionRefused, match="it is completed"):
        client.cancel(made.job_id)


def test_a_region_that_goes_silent_while_cancelling_is_told(
    connect: Connect, three: list[Stub]
) -> None:
    client = connect(*three)
    made = client.enqueue("t")
    three[0].deletes = None

    with pytest.raises(RegionUnavailable):
        client.cancel(made.job_id)
