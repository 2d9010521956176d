"""Three real servers as one federation, also when one of them fails. Spec: federation.

A few hundred jobs go through each failure here, so the tests stay quick. `python -m
bench.federation` sends ten thousand jobs through the same code.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bench.federation.convergence import converge, differences, mirror, wrong_winners
from bench.federation.rig import Rig
from bench.federation.survival import client_of, stored, survive
from federation.client import FederatedClient, NewJob, RegionUnavailable, UnknownRegion
from federation.domain.meta import REGION, REGION_AFFINITY, REPLICATED_FROM
from tests.processes import until
from tests.spec import spec

pytestmark = pytest.mark.xdist_group("regions")  # one process: the tests share servers
WAIT_S = 240.0


@pytest.fixture
def client(rig: Rig) -> Iterator[FederatedClient]:
    """Return a client in the region us."""
    with client_of(rig, "us") as found:
        yield found


def post(rig: Rig, region: str, path: str, body: Any) -> httpx.Response:
    """Send a request to a region."""
    url = f"{rig.servers[region].url}/ojs/v1/{path}"
    return httpx.post(url, json=body, timeout=WAIT_S, trust_env=False)


def breaker(rig: Rig, asked: str, region: str) -> tuple[str, str]:
    """Return status and breaker of a region, as the region `asked` sees them."""
    found = rig.servers[asked].get("/ojs/v1/federation/regions") or {"regions": []}
    for one in found["regions"]:
        if one["id"] == region:
            return one["status"], one["circuit_breaker"]
    return "", ""


def are_well(rig: Rig) -> bool:
    """Return whether every region sees every other region as healthy."""
    return all(
        breaker(rig, a, b) == ("healthy", "closed") for a in rig.servers for b in rig.servers
    )


@pytest.fixture(autouse=True)
def all_well(rig: Rig) -> None:
    """Start each test with three regions that see one another as healthy."""
    until(lambda: are_well(rig), "three healthy regions", WAIT_S)


# --- strategies -----------------------------------------------------------------------------------


@spec("FED-3.1")
def test_affinity_stays_local_in_each_region(rig: Rig) -> None:
    for region in rig.servers:
        with client_of(rig, region) as local:
            assert local.enqueue("t", queue="apart").region == region

        hosted = post(rig, region, "federation/jobs", {"type": "t", "args": [], "queue": "apart"})
        assert hosted.status_code == 201
        assert hosted.json()["federation"]["target_region"] == region


@spec("FED-3.2")
def test_overflow_goes_where_the_least_is_to_do(rig: Rig, client: FederatedClient) -> None:
    for region, number in (("us", 40), ("eu", 20)):
        client.enqueue_batch([NewJob("t", queue="apart", region=region) for _ in range(number)])

    until(lambda: client.route({REGION_AFFINITY: "overflow"}).target.id == "ap", "loads", WAIT_S)

    assert client.enqueue("t", queue="apart", strategy="overflow").region == "ap"
    answer = post(
        rig, "us", "federation/route", {"type": "t", "meta": {REGION_AFFINITY: "overflow"}}
    )
    assert answer.json()["strategy"] == "overflow"


@spec("FED-3.3")
def test_pinned_jobs_are_where_they_must_be(rig: Rig, client: FederatedClient) -> None:
    for region, server in rig.servers.items():
        made = client.enqueue("t", queue="apart", region=region)
        assert made.region == region
        assert server.get(f"/ojs/v1/jobs/{made.job_id}") is not None
        elsewhere = [one for other, one in rig.servers.items() if other != region]
        assert [one.get(f"/ojs/v1/jobs/{made.job_id}") for one in elsewhere] == [None, None]
    with pytest.raises(UnknownRegion):
        client.enqueue("t", region="mars")


@spec("FED-1.1-a")
def test_the_plain_path_never_routes_and_keeps_any_meta(rig: Rig) -> None:
    meta = {REGION: "eu", REGION_AFFINITY: "by-mood", REPLICATED_FROM: "ap", "mine": {"a": [1]}}

    answer = post(rig, "us", "jobs", {"type": "t", "args": [], "queue": "apart", "meta": meta})

    assert answer.status_code == 201
    job = answer.json()["job"]
    assert job["meta"] == meta
    assert rig.servers["us"].get(f"/ojs/v1/jobs/{job['id']}") is not None


def test_a_retry_of_a_batch_stores_nothing_twice(rig: Rig, client: FederatedClient) -> None:
    first = client.enqueue_batch([NewJob("t", [n], queue="apart") for n in range(50)])
    again = client.enqueue_batch(
        [NewJob("t", federation_id=one.federation_id, queue="apart") for one in first.enqueued]
    )

    assert [one.job_id for one in again.enqueued] == [one.job_id for one in first.enqueued]


# --- death ----------------------------------------------------------------------------------------


@spec("FED-4.3")
def test_jobs_survive_the_death_of_a_region_and_the_breaker_heals(rig: Rig) -> None:
    def is_open() -> bool:
        return all(breaker(rig, one, "us") == ("unhealthy", "open") for one in ("eu", "ap"))

    found = survive(rig, 300, is_noticed=is_open)

    assert found.lost == set()
    assert found.doubled == set()
    assert found.unexplained == set()
    assert found.alive_twice == set(), "one of two gave way"
    assert found.ended == set(), "and the other one did not"
    assert found.misplaced == set()
    assert found.refused == 0, "free jobs always found a region"
    assert found.refused_pins > 0, "pinned ones were refused"
    assert found.promised.total() + found.refused_pins == 300
    until(lambda: breaker(rig, "eu", "us") == ("healthy", "closed"), "healing", WAIT_S)


@pytest.mark.long
@spec("FED-7.2-a")
def test_a_job_pinned_to_a_dead_region_is_nowhere(rig: Rig, client: FederatedClient) -> None:
    before = sum(1 for _ in stored(rig))
    ap = rig.servers["ap"]
    ap.kill()
    try:
        with pytest.raises(RegionUnavailable):
            client.enqueue("survival", region="ap", queue="survival")
        answer = post(
            rig, "us", "federation/jobs", {"type": "survival", "args": [], "meta": {REGION: "ap"}}
        )
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "federation_region_unavailable"
        assert answer.headers["Retry-After"]
    finally:
        ap.start()
        ap.wait()

    assert sum(1 for _ in stored(rig)) == before


# --- topology -------------------------------------------------------------------------------------


@pytest.fixture
def hub_spoke(rig: Rig) -> Iterator[None]:
    """Make eu the hub for the duration of a test."""
    change(rig, "PATCH", "regions/eu", {"is_hub": True})
    change(rig, "PUT", "config", {"topology": "hub-spoke"})
    yield
    change(rig, "PUT", "config", {})
    change(rig, "PATCH", "regions/eu", {"is_hub": False})


def change(rig: Rig, method: str, path: str, body: Any) -> None:
    """Send one change to all regions; each uses it after its interval of reading."""
    for server in rig.servers.values():
        url = f"{server.url}/ojs/v1/admin/federation/{path}"
        httpx.request(method, url, json=body, timeout=WAIT_S, trust_env=False).raise_for_status()


@pytest.mark.usefixtures("hub_spoke")
@spec("FED-2.1")
def test_spokes_go_through_the_hub_and_work_alone_without_it(rig: Rig) -> None:
    pinned = {"type": "t", "args": [], "queue": "apart", "meta": {REGION: "ap"}}
    free = {"type": "t", "args": [], "queue": "apart", "meta": {REGION_AFFINITY: "overflow"}}
    eu, ap = rig.servers["eu"], rig.servers["ap"]
    until(lambda: breaker(rig, "us", "eu")[0] == "healthy", "notice of the hub", WAIT_S)
    rig.proxies["us", "ap"].cut()
    try:
        # us still sees ap as healthy, but cannot send a request to it directly
        answer = post(rig, "us", "federation/jobs", pinned)
        assert (answer.status_code, answer.json()["federation"]["target_region"]) == (201, "ap")
        assert ap.get(f"/ojs/v1/jobs/{answer.json()['job']['id']}") is not None
    finally:
        rig.proxies["us", "ap"].heal()

    eu.kill()
    try:
        until(lambda: breaker(rig, "us", "eu")[0] == "unhealthy", "notice of the hub", WAIT_S)
        refused = post(rig, "us", "federation/jobs", pinned)
        assert refused.json()["error"]["code"] == "federation_region_unavailable"
        assert "the hub is unavailable" in refused.json()["error"]["message"]
        local = post(rig, "us", "federation/jobs", free)
        assert (local.status_code, local.json()["federation"]["target_region"]) == (201, "us")
        run_one(rig, "us", local.json()["job"]["id"])
    finally:
        eu.start()
        eu.wait()


def run_one(rig: Rig, region: str, job: str) -> None:
    """Fetch jobs as a worker until `job` comes, and complete it."""
    worker = {"queues": ["apart"], "worker_id": "hub-is-gone", "count": 100}

    def is_taken() -> bool:
        jobs = post(rig, region, "workers/fetch", worker).json()["jobs"]
        return job in [one["id"] for one in jobs]

    until(is_taken, "the job", WAIT_S)
    assert post(rig, region, "workers/ack", {"job_id": job, "result": {}}).status_code == 200


# --- partition ------------------------------------------------------------------------------------


@spec("FED-5.2")
def test_all_regions_agree_row_by_row_after_a_partition(rig: Rig) -> None:
    """Both sides store jobs of the same federation ids meanwhile: the last writer wins."""
    with client_of(rig, "us") as ours, client_of(rig, "eu") as theirs:
        rig.cut_off("us")
        try:
            first = [ours.enqueue("split", [n], queue="apart", region="us") for n in range(5)]
            for one in first:
                theirs.enqueue("split", queue="apart", region="eu", federation_id=one.federation_id)
            ours.cancel(first[0].job_id, "us")
            until(lambda: bool(differences(rig)), "views that differ", WAIT_S)
        finally:
            rig.heal("us")
    converge(rig, WAIT_S)

    for server in rig.servers.values():
        assert wrong_winners(server) == set()
        for one in first:
            copies = {
                place: row for place, row in mirror(server).items() if row[1] == one.federation_id
            }
            assert sorted(region for region, _ in copies) == ["eu", "us"]
            assert [region for (region, _), row in copies.items() if row[-1]] == ["eu"], "the later"
        told = server.get(f"/ojs/v1/federation/jobs/{first[0].federation_id}")
        assert told is not None
        assert told["winner"]["origin_region"] == "eu"
        assert len(told["copies"]) == 2


@spec("FED-6.3-e")
def test_copies_are_no_jobs_and_are_not_told_again(rig: Rig) -> None:
    for region, server in rig.servers.items():
        foreign = [job for origin, job in mirror(server) if origin != region]
        own = {row[0] for row in server.rows("SELECT id::text FROM ojs_job")}
        assert foreign
        assert not own & set(foreign), "nobody can claim them"
