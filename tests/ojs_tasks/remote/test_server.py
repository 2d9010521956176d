"""Producers over HTTP, against a real server."""

import asyncio
import pickle
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State, state_of
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.show import show
from ojs_tasks.exceptions import JobNotFound, Refused, ResultTimeout
from ojs_tasks.ids import new_id
from ojs_tasks.remote.server import RemoteServer
from ojs_tasks.server import Snapshot
from tests.concurrency import threads, until
from tests.ojs_tasks.local.test_waits import awaited
from tests.ojs_tasks.remote.between import Between
from tests.ojs_tasks.remote.conftest import Site

DRAFT = {"type": "tests.remote", "queue": "remote", "args": [1, {"a": [2**70, "é"]}]}


def enqueue(server: RemoteServer, **members: Any) -> Snapshot:
    """Store one job."""
    (found,) = server.enqueue([{**DRAFT, **members}])
    assert found is not None
    return found


def test_enqueue_stores_the_job_with_its_arguments(remote: RemoteServer) -> None:
    found = enqueue(remote, meta={"a": 1})

    assert (found.type, found.queue, found.state) == ("tests.remote", "remote", "available")
    assert found.meta == {"a": 1}
    assert remote.read(found.id).state == "available"
    assert str(2**70) in str(show(found.id).args)


def test_enqueue_of_several_keeps_their_order_and_their_ids(remote: RemoteServer) -> None:
    mine = new_id()

    found = remote.enqueue([DRAFT, {**DRAFT, "id": mine}, {**DRAFT, "type": "tests.last"}])

    assert [one and one.type for one in found] == ["tests.remote", "tests.remote", "tests.last"]
    assert found[1] is not None
    assert found[1].id == mine


def test_enqueue_of_nothing_sends_nothing(site: Site) -> None:
    assert RemoteServer({"SERVER": "http://127.0.0.1:1"}).enqueue([]) == []


def test_a_unique_job_is_found_instead_of_a_new_one(remote: RemoteServer) -> None:
    unique = {"keys": ["type", "args"], "on_conflict": "ignore"}
    first = enqueue(remote, unique=unique)

    second = enqueue(remote, unique=unique)

    assert (second.id, second.deduplicated) == (first.id, True)


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"queue": "Not A Queue"}, "invalid_request"),
        ({"retry": {"max_attempts": -1}}, "invalid_request"),
        ({"args": [object()]}, "invalid_payload"),
    ],
)
def test_a_refusal_has_the_code_and_details_of_the_server(
    remote: RemoteServer, members: dict[str, Any], code: str
) -> None:
    with pytest.raises(Refused) as caught:
        enqueue(remote, **members)

    assert caught.value.code == code
    assert not caught.value.retryable
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - made here
    assert (again.code, again.message) == (code, caught.value.message)


def test_an_unknown_job_is_not_found(remote: RemoteServer) -> None:
    for call in (remote.read, remote.cancel, lambda job: remote.wait(job, 0)):
        with pytest.raises(JobNotFound):
            call(new_id())


def test_cancel_ends_a_job_once(remote: RemoteServer) -> None:
    job = enqueue(remote)

    assert remote.cancel(job.id).state == "cancelled"
    with pytest.raises(Refused, match="cancelled") as caught:
        remote.cancel(job.id)
    assert caught.value.code == "conflict"


def test_a_wrong_key_is_refused_without_showing_it(site: Site, store: None) -> None:
    wrong = "ojs_abcdefgh_" + "x" * 43

    server = RemoteServer({"SERVER": site.url, "API_KEY": wrong})

    with closing(server), pytest.raises(Refused) as caught:
        enqueue(server)

    assert (caught.value.code, caught.value.status) == ("unauthenticated", 401)
    assert wrong not in repr(caught.value)


def test_a_key_without_the_scope_is_refused(site: Site, make_key: Callable[..., str]) -> None:
    server = RemoteServer({"SERVER": site.url, "API_KEY": make_key("worker")})

    with closing(server), pytest.raises(Refused) as caught:
        enqueue(server)

    assert caught.value.code == "permission_denied"


# --- the end of a job


def claim(job_id: str) -> int:
    """Claim a job; return its attempt."""
    (job,) = fetch(FetchRequest(("remote",), worker_id="w1")).jobs
    assert job.id == job_id
    return job.attempt


def complete(job_id: str) -> None:
    claim(job_id)
    ack([Ack(job_id, b'{"rows": 3}')])


def fail(job_id: str) -> None:
    claim(job_id)
    nack([Nack(job_id, {"type": "LookupError", "code": "x", "message": "no", "retryable": False})])


@pytest.mark.parametrize(("end", "state"), [(complete, "completed"), (fail, "discarded")])
@pytest.mark.parametrize("is_early", [True, False])
def test_wait_returns_the_job_after_its_end(
    remote: RemoteServer, end: Callable[[str], None], state: str, is_early: bool
) -> None:
    job = enqueue(remote)
    found: list[Snapshot] = []
    waiter = threading.Thread(target=lambda: found.append(remote.wait(job.id, 60)))
    if not is_early:
        end(job.id)
    waiter.start()
    if is_early:
        end(job.id)
    waiter.join()

    assert found[0].state == state
    if state == "completed":
        assert found[0].result == {"rows": 3}
    else:
        assert found[0].error is not None
        assert (found[0].error["type"], found[0].error["message"]) == ("LookupError", "no")


def test_a_wait_is_one_request_that_the_end_answers(behind: RemoteServer, between: Between) -> None:
    job = enqueue(behind)
    with threads(1) as start:
        waiting = start(lambda: behind.wait(job.id, 60))
        until(lambda: awaited() == 1)
        complete(job.id)

    assert waiting.result().result == {"rows": 3}
    assert between.seen[1:] == [
        f"GET /ojs/v1/jobs/{job.id}{rest}" for rest in ("", "/result?wait=true&timeout=20", "")
    ]


@pytest.mark.parametrize("timeout_s", [0, 0.2, 1.2])
def test_wait_ends_with_its_time(remote: RemoteServer, timeout_s: float) -> None:
    job = enqueue(remote)

    with pytest.raises(ResultTimeout, match=job.id):
        remote.wait(job.id, timeout_s)


def test_the_event_loop_does_the_same(remote: RemoteServer) -> None:
    async def use() -> list[str]:
        (job, _) = await remote.aenqueue([DRAFT, DRAFT])
        assert job is not None
        states = [(await remote.aread(job.id)).state]
        with pytest.raises(ResultTimeout):
            await remote.await_end(job.id, 0.8)
        waiting = asyncio.create_task(remote.await_end(job.id, 60))
        await asyncio.sleep(0)
        states.append((await remote.acancel(job.id)).state)
        states.append((await waiting).state)
        with pytest.raises(JobNotFound):
            await remote.aread(new_id())
        return states

    for _ in range(2):  # each on a loop of its own
        assert asyncio.run(use()) == ["available", "cancelled", "cancelled"]


def test_many_waits_leave_threads_to_other_requests(remote: RemoteServer) -> None:
    """The server holds a few of them; the others follow streams, which have their own threads."""
    jobs = [enqueue(remote) for _ in range(8)]
    with threads(len(jobs)) as start:
        waiting = [start(partial(remote.wait, one.id, 60)) for one in jobs]
        until(lambda: awaited() > 0)
        for one in jobs:
            assert remote.cancel(one.id).state == "cancelled"

    assert [one.result().state for one in waiting] == ["cancelled"] * len(jobs)


def test_threads_share_a_server(remote: RemoteServer) -> None:
    found: list[Snapshot] = []
    with threads(8) as start:
        for _ in range(8):
            start(lambda: found.append(enqueue(remote)))

    assert len({one.id for one in found}) == 8
    assert {state_of(show(one.id).state) for one in found} == {State.AVAILABLE}
