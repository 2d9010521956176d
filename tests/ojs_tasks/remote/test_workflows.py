"""Workflows over HTTP, against a real server."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import transaction

from ojs_tasks import (
    JobNotFound,
    Refused,
    ResultTimeout,
    ServerUnreachable,
    Signature,
    UncommittedJob,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowHandle,
    WorkflowNotFound,
    aget_workflow,
    batch,
    chain,
    get_workflow,
    group,
    server,
)
from ojs_tasks.ids import new_id
from ojs_tasks.remote.server import RemoteServer
from tests.concurrency import threads, until
from tests.conftest import free_port
from tests.ojs_tasks.local.test_waits import awaited
from tests.ojs_tasks.remote.between import Between, Fault
from tests.ojs_tasks.remote.conftest import Site
from tests.ojs_tasks.remote.project import Project
from tests.processes import DEADLINE_S
from tests.workflows.flows import claimed, complete, fail, seen
from workflows.models import Workflow

A = Signature[Any]("flow.a", [1])
B = Signature[Any]("flow.b", [])
RUN = """
import django
django.setup()
from ojs_tasks import chain, group
from shop.ojs_jobs import add
handle = chain(add.s(1, 2), group(add.s(3, 4))).enqueue()
(last,) = handle.result(timeout=60)
print(handle.state, last["sum"], [handle.results()[0]["sum"]])
"""
BUSY = b'{"error": {"code": "backend_unavailable", "message": "away", "retryable": true}}'


@pytest.fixture(autouse=True)
def used(behind: RemoteServer) -> Iterator[None]:
    """Use the server behind the proxy."""
    server.use(behind)
    yield
    server.use(None)


def test_a_chain_passes_results_on() -> None:
    handle = chain(A, group(A, B), B, name="sums").enqueue()
    assert (handle.type, handle.name, handle.state) == ("chain", "sums", "running")
    assert handle.progress == (0, 0, 4)

    complete(*claimed(), result=1)
    complete(*claimed(), result=[7])
    assert handle.refresh().progress == (3, 0, 4)
    assert handle.steps[0].result is None
    complete(*claimed(), result={"end": True})

    assert handle.result(DEADLINE_S) == {"end": True}
    assert handle.results() == [1, [[7], [7]], {"end": True}]
    assert get_workflow(handle.id) == handle
    assert get_workflow(handle.id).results() == handle.results()


@pytest.mark.parametrize("is_gone", [False, True])
def test_results_that_the_answer_leaves_out_are_those_of_the_jobs(
    between: Between, monkeypatch: pytest.MonkeyPatch, is_gone: bool
) -> None:
    handle = chain(A, group(A, B)).enqueue()
    complete(*claimed(), result=1)
    complete(*claimed(), result=[5])
    body = shown_without_results(handle)
    between.faults = [Fault("GET", handle.id, 200, body=body)]
    if is_gone:
        between.faults.append(Fault("GET", "", 404, body=b'{"error": {"code": "not_found"}}'))
        with pytest.raises(JobNotFound, match="result of step step-0"):
            handle.results()
    else:
        assert handle.results() == [1, [[5], [5]]]


def shown_without_results(handle: WorkflowHandle[Any]) -> bytes:
    """Return the answer of a server for which the results are too large."""
    shown = seen(handle.id)

    def leave_out(steps: list[dict[str, Any]]) -> None:
        for step in steps:
            del step["result"]
            step["result_omitted"] = True
            leave_out(step.get("steps", []))

    leave_out(shown["workflow"]["steps"])
    return json.dumps(shown).encode()


def test_a_failed_step_is_named_with_the_exception_of_its_handler() -> None:
    handle = chain(A, B).enqueue()
    fail(*claimed())

    with pytest.raises(WorkflowFailed, match=r"step step-0 \(flow.a\)") as caught:
        handle.result(DEADLINE_S)

    assert caught.value.error["message"]
    assert caught.value.__cause__ is not None


def test_a_failed_callback_is_named_before_the_failed_job() -> None:
    handle = batch([A, B], on_failure=B).enqueue()
    fail(*claimed())
    fail(*claimed())

    with pytest.raises(WorkflowFailed, match=r"step on_failure \(flow.b\)") as caught:
        handle.result(DEADLINE_S)

    assert caught.value.error["message"]
    assert [one.state for one in handle.callbacks] == ["failed"]
    assert handle.results() == [None, None]


def test_a_wait_survives_an_absence_of_the_server(between: Between) -> None:
    handle = chain(A).enqueue()
    with threads(1) as start:
        waiting = start(lambda: get_workflow(handle.id).result(DEADLINE_S))
        until(lambda: sum(line.startswith("GET") for line in between.seen) > 2)
        between.faults = [Fault("GET", handle.id)] + [Fault("GET", handle.id, 503, {}, BUSY)] * 2
        complete(*claimed(), result="end")

    assert waiting.result() == "end"
    assert not between.faults


def test_a_wait_is_one_request_that_the_end_answers(between: Between) -> None:
    handle = chain(A).enqueue()
    with threads(1) as start:
        waiting = start(lambda: handle.result(DEADLINE_S))
        until(lambda: awaited() == 1)
        complete(*claimed(), result="end")

    assert waiting.result() == "end"
    assert between.seen[1:] == [
        f"GET /ojs/v1/workflows/{handle.id}{rest}" for rest in ("", "?wait=true&timeout=20", "")
    ]


def test_a_wait_ends_with_its_time() -> None:
    handle = chain(A).enqueue()

    for timeout_s in (0, 0.2):
        with pytest.raises(ResultTimeout, match=f"workflow {handle.id} .*: it was running"):
            handle.result(timeout_s)


def test_cancel_ends_a_workflow_once(between: Between) -> None:
    handle = chain(A, B).enqueue()
    between.faults = [Fault("DELETE", handle.id)]  # its answer is lost

    assert handle.cancel().state == "cancelled"
    with pytest.raises(Refused) as caught:
        handle.cancel()
    assert caught.value.code == "conflict"
    with pytest.raises(WorkflowCancelled):
        handle.result(DEADLINE_S)


def test_the_event_loop_does_the_same() -> None:
    async def use() -> WorkflowHandle[Any]:
        handle = await group(A).aenqueue()
        await handle.arefresh()
        assert await handle.aresults() == [None]
        with pytest.raises(ResultTimeout):
            await handle.aresult(0.2)
        await (await aget_workflow(handle.id)).acancel()
        with pytest.raises(WorkflowCancelled):
            await handle.aresult(DEADLINE_S)
        return handle

    assert asyncio.run(use()).state == "cancelled"


def test_an_unknown_workflow_is_not_found(behind: RemoteServer) -> None:
    for call in (
        behind.read_workflow,
        behind.cancel_workflow,
        lambda x: behind.wait_workflow(x, 0),
    ):
        with pytest.raises(WorkflowNotFound):
            call(new_id())


def test_a_refused_workflow_stores_nothing() -> None:
    with pytest.raises(Refused) as caught:
        chain(Signature[Any]("Not a type", [])).enqueue()

    assert caught.value.code == "invalid_request"
    assert not Workflow.objects.exists()


def test_a_project_runs_its_workflow(host: Project) -> None:
    host.start("manage.py", "runworker")

    said = host.run("-c", RUN)

    assert said.split() == ["completed", "7", "[3]"]


# --- a second try never starts a workflow twice


def test_a_lost_answer_is_an_error_that_names_the_doubt(between: Between) -> None:
    between.faults = [Fault("POST", "/workflows")]

    with pytest.raises(ServerUnreachable, match="may have started nevertheless"):
        chain(A).enqueue()

    assert Workflow.objects.count() == 1
    assert len(between.seen) == 1


def test_a_doubtful_refusal_is_not_repeated(between: Between) -> None:
    between.faults = [Fault("POST", "/workflows", 503, {}, BUSY)]

    with pytest.raises(Refused) as caught:
        chain(A).enqueue()

    assert "may have started" in caught.value.__notes__[0]
    assert len(between.seen) == 1


def test_a_server_that_has_certainly_not_stored_it_is_asked_again(between: Between) -> None:
    between.faults = [Fault("POST", "/workflows", 429, {"Retry-After": "0"}, BUSY)]

    assert chain(A).enqueue().state == "running"
    assert Workflow.objects.count() == 1


def test_a_server_that_is_away_leaves_no_doubt() -> None:
    away = RemoteServer({"SERVER": f"http://127.0.0.1:{free_port()}", "RETRIES": 1})

    with closing(away), pytest.raises(ServerUnreachable) as caught:
        away.start_workflow(chain(A).body)

    assert "nevertheless" not in str(caught.value)


def test_a_workflow_cannot_wait_for_a_commit(site: Site, make_key: Callable[..., str]) -> None:
    found = RemoteServer(
        {"SERVER": site.url, "API_KEY": make_key("admin"), "ENQUEUE_ON_COMMIT": True}
    )
    with closing(found):
        server.use(found)
        with transaction.atomic():
            with pytest.raises(UncommittedJob, match="on_commit"):
                chain(A).enqueue()
            transaction.on_commit(chain(A).enqueue)

    assert Workflow.objects.count() == 1
