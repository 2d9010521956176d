"""Retries: a lost answer never doubles a job, and the server's wishes are obeyed."""

import threading
from collections.abc import Callable
from contextlib import closing
from time import monotonic
from typing import Any

import pytest

from jobs.models import Job
from ojs_tasks.exceptions import Refused, ServerUnreachable
from ojs_tasks.remote.server import RemoteServer
from tests.conftest import free_port
from tests.ojs_tasks.remote.between import Between, Fault

DRAFT = {"type": "tests.remote", "queue": "remote", "args": [1]}
UNIQUE = {**DRAFT, "unique": {"keys": ["type", "args"], "on_conflict": "ignore"}}
BUSY = b'{"error": {"code": "backend_unavailable", "message": "away", "retryable": true}}'


@pytest.mark.parametrize("times", [1, 2])
def test_a_lost_answer_to_enqueue_stores_one_job(
    behind: RemoteServer, between: Between, times: int
) -> None:
    between.faults = [Fault("POST", "/jobs")] * times

    (found,) = behind.enqueue([{**DRAFT, "meta": {"a": 1}}])

    assert found is not None
    assert (found.state, found.meta) == ("available", {"a": 1})
    assert [str(one.id) for one in Job.objects.all()] == [found.id]


def test_a_key_that_only_enqueues_survives_a_lost_answer(
    between: Between, make_key: Callable[..., str]
) -> None:
    between.faults = [Fault("POST", "/jobs")]
    with closing(RemoteServer({"SERVER": between.url, "API_KEY": make_key("producer")})) as server:
        (found,) = server.enqueue([DRAFT])

    assert found is not None
    assert Job.objects.filter(id=found.id).count() == Job.objects.count() == 1


def test_a_lost_answer_to_a_batch_stores_it_once(behind: RemoteServer, between: Between) -> None:
    (first,) = behind.enqueue([UNIQUE])
    between.faults = [Fault("POST", "/jobs/batch")]

    found = behind.enqueue([DRAFT, UNIQUE, DRAFT])

    assert [one and one.type for one in found] == ["tests.remote"] * 3
    assert first is not None
    assert found[1] is not None
    assert (found[1].id, found[1].deduplicated) == (first.id, True)
    assert Job.objects.count() == 3


def test_a_lost_answer_to_cancel_shows_the_cancelled_job(
    behind: RemoteServer, between: Between
) -> None:
    (job,) = behind.enqueue([DRAFT])
    assert job is not None
    between.faults = [Fault("DELETE", job.id)]

    assert behind.cancel(job.id).state == "cancelled"


def test_the_id_of_another_job_is_still_refused(behind: RemoteServer) -> None:
    (job,) = behind.enqueue([DRAFT])
    assert job is not None

    with pytest.raises(Refused) as caught:
        behind.enqueue([{**DRAFT, "id": job.id}])

    assert caught.value.code == "duplicate"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again_after_the_time_it_names(
    behind: RemoteServer, between: Between, status: int
) -> None:
    between.faults = [Fault("POST", "/jobs", status, {"Retry-After": "1"}, BUSY)]
    began = monotonic()

    (found,) = behind.enqueue([DRAFT])

    assert found is not None
    assert monotonic() - began >= 1
    assert Job.objects.count() == 1


def test_a_long_wait_is_left_to_the_caller(behind: RemoteServer, between: Between) -> None:
    between.faults = [Fault("POST", "/jobs", 503, {"Retry-After": "600"}, BUSY)]

    with pytest.raises(Refused) as caught:
        behind.enqueue([DRAFT])

    found: Any = caught.value
    assert (found.code, found.status, found.retryable) == ("backend_unavailable", 503, True)
    assert found.retry_after_s == 600
    assert len(between.seen) == 1


def test_a_redirect_is_not_followed(behind: RemoteServer, between: Between) -> None:
    elsewhere = {"Location": "http://192.0.2.1/ojs/v1/jobs"}
    between.faults = [Fault("POST", "/jobs", 307, elsewhere)]

    with pytest.raises(Refused, match="redirect"):
        behind.enqueue([DRAFT])


def test_an_answer_of_another_server_is_named_as_such(
    behind: RemoteServer, between: Between
) -> None:
    between.faults = [Fault("POST", "/jobs", 200, body=b"<html>Welcome</html>")]

    with pytest.raises(ServerUnreachable, match="is it an OJS server"):
        behind.enqueue([DRAFT])


def test_a_server_that_is_away_is_named_in_one_line() -> None:
    server = RemoteServer({"SERVER": f"http://127.0.0.1:{free_port()}", "RETRIES": 1})

    with closing(server), pytest.raises(ServerUnreachable, match="does not answer") as caught:
        server.enqueue([DRAFT])

    assert caught.value.__cause__ is None


def test_a_wait_survives_an_absence_of_the_server(behind: RemoteServer, between: Between) -> None:
    (job,) = behind.enqueue([DRAFT])
    assert job is not None
    states: list[str] = []
    waiter = threading.Thread(target=lambda: states.append(behind.wait(job.id, 60).state))
    waiter.start()
    while not any(line.startswith("GET") for line in between.seen):
        waiter.join(0.02)

    between.faults = [Fault("GET", job.id)] + [Fault("GET", job.id, 503, {}, BUSY)] * 4
    behind.cancel(job.id)
    waiter.join()

    assert states == ["cancelled"]


def test_a_server_that_holds_nothing_is_polled(behind: RemoteServer, between: Between) -> None:
    (job,) = behind.enqueue([DRAFT])
    assert job is not None
    states: list[str] = []
    held = Fault("GET", "/result?wait=true&timeout=20", 404)
    between.faults = [held, Fault("GET", "/events", 404), held, held]
    waiter = threading.Thread(target=lambda: states.append(behind.wait(job.id, 60).state))
    waiter.start()
    while between.faults:
        waiter.join(0.02)

    behind.cancel(job.id)
    waiter.join()

    assert states == ["cancelled"]
    assert sum(line.endswith("/events") for line in between.seen) == 1
