"""`kill -9` of HTTP server processes in the middle of requests."""

import os
import signal

import pytest

from tests.conftest import wait_until_healthy
from tests.crash.conftest import Run, Store, serve
from tests.crash.load import Load
from tests.processes import children, kill_family, until

pytestmark = [pytest.mark.usefixtures("store"), pytest.mark.xdist_group("crash")]

COMPLETED = 6


def test_what_was_acknowledged_survives_killed_http_processes(
    processes: Run, database_url: str
) -> None:
    url, parent = serve(processes, database_url)
    processes(database_url, "manage.py", "runworker", "--no-handlers")
    wait_until_healthy(url)
    store = Store(database_url)

    with Load(url, may_disconnect=True) as load:
        load.produce(4, "remote", "crash.test")
        load.work(2, "remote")
        for _ in range(3):
            enough = len(load.journal.completed) + 50
            until(lambda enough=enough: len(load.journal.completed) >= enough, "load")  # type: ignore[misc]
            killed = children(parent.pid)[0]
            os.kill(killed, signal.SIGKILL)
            until(lambda killed=killed: is_replaced(parent.pid, killed), "a new process")  # type: ignore[misc]
        kill_family(parent.pid)
        parent.wait()
        serve(processes, database_url, int(url.rpartition(":")[2]))
        wait_until_healthy(url)
        load.stop_producing()
        stored, acked = set(load.journal.stored), set(load.journal.completed)
        until(lambda: stored <= store.jobs(COMPLETED), "the end of every job")

    assert load.journal.problems == []
    assert len(stored) >= 150
    assert load.journal.stored <= store.jobs()
    assert acked <= store.jobs(COMPLETED)
    assert store.misplaced() == []


def is_replaced(parent: int, killed: int) -> bool:
    """Return whether the server has two processes again."""
    return len({*children(parent)} - {killed}) == 2
