"""Shutdown of a server: it answers waiting clients and takes no new work. Spec: contract 33.3."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from time import monotonic

import httpx
import pytest
from django.test import Client

from jobs.domain.states import State
from jobs.services.dispatch.result import job_or_wait
from jobs.services.workers import draining
from tests.conftest import free_port, http_server, wait_until_answering
from tests.factories import JobFactory
from tests.processes import until
from tests.spec import spec

Spawn = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return the event of a shutdown, which tests set without the end of this process."""
    over = threading.Event()
    monkeypatch.setattr(draining, "_over", over)
    return over


@spec("contract 33.3")
def test_ready_is_503_while_the_process_ends(store: None, ending: threading.Event) -> None:
    before = Client().get("/ready").status_code
    draining.drain()

    after = Client().get("/ready")

    assert (before, after.status_code, after.json()["status"]) == (200, 503, "not_ready")


@spec("contract 33.3")
def test_who_waits_for_a_result_is_let_go(store: None, ending: threading.Event) -> None:
    job = JobFactory.create(state=State.ACTIVE)
    threading.Timer(0.1, draining.drain).start()
    began = monotonic()

    found = job_or_wait(job, 300)

    assert found.state == job.state
    assert monotonic() - began < 200


@spec("contract 33.3")
def test_long_poll_is_answered_empty_when_the_server_is_told_to_end(
    store: None, spawn: Spawn
) -> None:
    port = free_port()
    process = spawn(*http_server(port))
    url = f"http://127.0.0.1:{port}"
    wait_until_answering(url)
    answers: list[httpx.Response] = []

    def wait() -> None:
        body = {"queues": ["default"], "wait_ms": 20_000, "worker_id": "long"}
        answers.append(httpx.post(f"{url}/ojs/v1/workers/fetch", json=body, timeout=30))

    waiter = threading.Thread(target=wait)
    began = monotonic()
    waiter.start()
    until(lambda: httpx.get(f"{url}/ojs/v1/workers/long/health").status_code == 200)

    os.kill(process.pid, signal.SIGTERM)
    waiter.join(25)

    assert answers[0].json() == {"jobs": []}
    assert monotonic() - began < 15
    assert process.wait(30) == 0
