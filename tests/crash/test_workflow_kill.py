"""`kill -9` of processes that end members of workflows: every step runs once."""

import os
import signal

import httpx
import pytest

from tests.conftest import wait_until_healthy
from tests.crash.conftest import Run, Store, serve
from tests.crash.load import RETRY, Load
from tests.processes import children, until
from tests.spec import spec

pytestmark = [pytest.mark.usefixtures("store"), pytest.mark.xdist_group("crash")]

WORKFLOWS, MEMBERS = 12, 12
RUNNING, COMPLETED = 1, 2


def job(kind: str) -> dict[str, object]:
    """Return a step with so many attempts that it is always retried."""
    return {"type": kind, "args": [], "options": {"queue": "remote", "retry": RETRY}}


def body() -> dict[str, object]:
    """Return a chain with a fan-out, a fan-in and a callback."""
    inner = {
        "type": "batch",
        "jobs": [job("crash.member") for _ in range(MEMBERS)],
        "callbacks": {"on_success": job("crash.back")},
    }
    return {"type": "chain", "steps": [job("crash.first"), inner, job("crash.last")]}


def is_replaced(parent: int, killed: int) -> bool:
    """Return whether the server has two processes again."""
    return len({*children(parent)} - {killed}) == 2


@spec("contract 8.2")
@pytest.mark.long
def test_workflows_end_once_whoever_is_killed_at_it(processes: Run, database_url: str) -> None:
    url, parent = serve(processes, database_url)
    processes(database_url, "manage.py", "runworker", "--no-handlers")
    wait_until_healthy(url)
    store = Store(database_url)
    flows = [
        httpx.post(f"{url}/ojs/v1/workflows", json=body(), timeout=30).json()["id"]
        for _ in range(WORKFLOWS)
    ]

    with Load(url, may_disconnect=True) as load:
        load.work(4, "remote")
        for _ in range(4):
            enough = len(load.journal.completed) + 15
            until(lambda enough=enough: len(load.journal.completed) >= enough, "load")  # type: ignore[misc]
            killed = children(parent.pid)[0]
            os.kill(killed, signal.SIGKILL)
            until(lambda killed=killed: is_replaced(parent.pid, killed), "a new process")  # type: ignore[misc]
        until(
            lambda: not store.rows("SELECT 1 FROM ojs_workflow WHERE state <= %s", RUNNING),
            "the end of every workflow",
        )

    assert load.journal.problems == []
    assert set(store.rows("SELECT state FROM ojs_workflow")) == {(COMPLETED,)}
    stored = store.rows("SELECT type, count(*) FROM ojs_job GROUP BY type ORDER BY type")
    assert stored == [
        ("crash.back", WORKFLOWS),
        ("crash.first", WORKFLOWS),
        ("crash.last", WORKFLOWS),
        ("crash.member", WORKFLOWS * MEMBERS),
    ]
    ends = store.rows("SELECT data ->> 'workflow_id', count(*) FROM ojs_event"
                      " WHERE kind = 52 GROUP BY 1")  # fmt: skip
    assert set(flows) < {str(flow) for flow, _ in ends}
    assert {number for _, number in ends} == {1}
    told = store.rows("SELECT count(*) FROM ojs_event WHERE kind = 51")
    assert told == [(WORKFLOWS * (MEMBERS + 4),)]
    assert store.misplaced() == []
