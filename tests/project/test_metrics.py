"""The page /metrics of several server processes. Spec: contract 32.3."""

import os
from functools import partial
from pathlib import Path

import httpx
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from jobs.loops import run_once
from tests.conftest import Spawn, free_port, http_server, wait_until_answering
from tests.processes import DEADLINE_S, until
from tests.spec import spec

get, post = partial(httpx.get, timeout=DEADLINE_S), partial(httpx.post, timeout=DEADLINE_S)

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def servers(spawn: Spawn, tmp_path: Path) -> list[str]:
    """Return the URLs of two servers that share a folder for their metrics."""
    urls = []
    for _ in range(2):
        port = free_port()
        spawn(*http_server(port), PROMETHEUS_MULTIPROC_DIR=str(tmp_path))
        urls.append(f"http://127.0.0.1:{port}")
    for url in urls:
        wait_until_answering(url)
    return urls


def scrape(url: str) -> dict[str, Metric]:
    """Read and parse the page; assert that no family comes twice."""
    answer = get(f"{url}/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = list(text_string_to_metric_families(answer.text))
    assert len({family.name for family in found}) == len(found)
    return {family.name: family for family in found}


def count(url: str, name: str, **labels: str) -> float:
    """Return the sum of the samples of this name with these labels."""
    return sum(
        sample.value
        for family in scrape(url).values()
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


@spec("contract 32.3")
def test_counters_of_several_processes_add_up_wherever_they_are_read(
    servers: list[str],
) -> None:
    for url in (*servers, *servers, servers[0]):
        job = {"type": "obs.test", "args": [], "options": {"queue": "metrics"}}
        post(f"{url}/ojs/v1/jobs", json=job).raise_for_status()
    for url in servers:
        fetched = post(f"{url}/ojs/v1/workers/fetch", json={"queues": ["metrics"]}).json()
        ack = {"job_id": fetched["jobs"][0]["id"]}
        post(f"{url}/ojs/v1/workers/ack", json=ack).raise_for_status()
    post(f"{servers[0]}/ojs/v1/workers/fetch", json={"queues": ["empty"]})

    for url in servers:  # the database's figures are at most five seconds old
        until(lambda url=url: aggregated(url, "enqueued") == 5, "the count of enqueued jobs")  # type: ignore[misc]
        until(lambda url=url: aggregated(url, "completed") == 2, "the count of completed jobs")  # type: ignore[misc]
        assert count(url, "ojs_http_request_duration_seconds_count", route="ojs-jobs") == 5
        assert count(url, "ojs_job_enqueue_duration_seconds_count", queue="metrics") == 5
        assert count(url, "ojs_fetch_duration_seconds_count") == 3
        assert count(url, "ojs_fetch_empty_total") == 1


def aggregated(url: str, what: str) -> float:
    """Run the aggregation once and read a lifecycle counter."""
    run_once(["fold"])
    return count(url, f"ojs_job_{what}_total", queue="metrics", type="obs.test")


@spec("contract 32.3")
def test_requests_are_counted_by_route_never_by_path(servers: list[str]) -> None:
    url = servers[0]
    for path in ("/ojs/v1/jobs/1", "/ojs/v1/jobs/2", "/ojs/v1/nowhere", f"/x/{os.getpid()}"):
        get(url + path)

    families = scrape(url)

    routes = {
        sample.labels["route"]
        for sample in families["ojs_http_request_duration_seconds"].samples
    }  # fmt: skip
    assert "ojs-job" in routes
    assert all(route == "unknown" or route.startswith("ojs-") for route in routes)


@spec("contract 32.3")
def test_loops_are_observed(servers: list[str], spawn: Spawn, tmp_path: Path) -> None:
    runner = spawn(
        "manage.py", "runworker", "--no-handlers", PROMETHEUS_MULTIPROC_DIR=str(tmp_path)
    )

    for name in ("promote", "reap", "reap_dead_workers", "expire", "fold", "heal"):
        until(
            lambda name=name: count(servers[0], "ojs_loop_tick_seconds_count", loop=name) > 0,  # type: ignore[misc]
            name,
        )
        until(
            lambda name=name: any(  # type: ignore[misc]
                sample.labels == {"loop": name}
                for sample in scrape(servers[1])["ojs_loop_lag_seconds"].samples
            ),
            name,
        )
    runner.terminate()
    assert runner.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("path", ["/ojs/v1/health", "/console/login/", "/ojs/v1/nowhere"])
def test_whole_bodies_come_with_their_length(servers: list[str], path: str) -> None:
    answer = get(servers[0] + path)
    head = httpx.head(servers[0] + path, timeout=DEADLINE_S)

    assert int(answer.headers["Content-Length"]) == len(answer.content) > 0
    assert "Transfer-Encoding" not in answer.headers
    assert head.content == b""
