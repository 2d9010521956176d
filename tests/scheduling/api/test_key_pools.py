"""API keys that are bound to a pool. Spec: contract 31.2, 20.5 step 4."""

from typing import Any

import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.models import Lease, Worker
from tests.factories import stored
from tests.scheduling.pools import put
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

BEATS = ("workers/heartbeat", "workers/beat", "workers/register")


def post(headers: dict[str, str], path: str, **body: Any) -> Any:
    """Send a worker's request with a key."""
    return Client().post(f"/ojs/v1/{path}", body, content_type=OJS_TYPE, headers=headers)


@pytest.fixture
def pools(store: None) -> None:
    """Define two pools."""
    put("fast", "mail", concurrency=1)
    put("slow", "other")


@pytest.fixture
def bound(pools: None, new_key: Any) -> dict[str, str]:
    """Return the headers of a worker's key for the pool `fast`."""
    headers: dict[str, str] = new_key("worker", pool="fast")
    return headers


@spec("contract 31.2")
def test_a_key_of_a_pool_puts_its_workers_into_that(bound: dict[str, str]) -> None:
    stored(3, queue="mail")

    got = post(bound, "workers/fetch", worker_id="w1", count=5).json()["jobs"]

    assert len(got) == 1  # the cap of the pool
    assert Lease.objects.get().pool == "fast"
    assert Worker.objects.get().pool == "fast"


@pytest.mark.parametrize("path", BEATS)
@spec("contract 31.2")
def test_its_workers_report_as_those_of_the_pool(bound: dict[str, str], path: str) -> None:
    assert post(bound, path, worker_id="w1").status_code == 200
    assert Worker.objects.get().pool == "fast"
    assert post(bound, path, worker_id="w1", pool="fast").status_code == 200


@pytest.mark.parametrize("path", [*BEATS, "workers/fetch"])
@spec("contract 31.2")
def test_another_pool_is_refused(bound: dict[str, str], path: str) -> None:
    answer = post(bound, path, worker_id="w1", pool="slow", queues=["other"])

    assert answer.status_code == 403
    error = answer.json()["error"]
    assert (error["code"], error["details"]["operation"]) == (
        "permission_denied", "work in pool 'slow'",
    )  # fmt: skip
    assert not Worker.objects.exists()


@spec("contract 31.2")
def test_a_key_of_no_pool_names_any(bound: dict[str, str], new_key: Any) -> None:
    free = new_key("worker")

    assert post(free, "workers/heartbeat", worker_id="w2", pool="slow").status_code == 200
    assert Worker.objects.get().pool == "slow"
