"""The HTTP server while its processes are killed repeatedly, and while its database stalls."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from ojs_project.postgres import Cluster
from tests.conftest import wait_until_answering
from tests.crash.conftest import Run, serve
from tests.crash.test_http_kill import is_replaced
from tests.processes import DEADLINE_S, children, family, until

pytestmark = pytest.mark.xdist_group("crash")

KILLS = 6  # in sequence, each as soon as the process before is replaced
THREADS = 2 * 4  # of both processes


@pytest.mark.usefixtures("store")
def test_a_process_that_dies_again_and_again_is_replaced_each_time(
    processes: Run, database_url: str
) -> None:
    url, parent = serve(processes, database_url)
    wait_until_answering(url)

    for _ in range(KILLS):
        killed = children(parent.pid)[0]
        os.kill(killed, signal.SIGKILL)
        until(lambda killed=killed: is_replaced(parent.pid, killed), "a new process")  # type: ignore[misc]

    wait_until_answering(url)
    assert parent.poll() is None


@contextmanager
def standing_still(cluster: Cluster) -> Iterator[None]:
    """Stop all processes of a database in their current state."""
    postmaster = int((cluster.data / "postmaster.pid").read_text().split()[0])
    stopped = family(postmaster)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)


@pytest.mark.long
def test_livez_answers_while_the_database_stands_still_and_requests_wait_for_it(
    processes: Run, cluster: Cluster
) -> None:
    url, _ = serve(processes, cluster.url)
    wait_until_answering(url)
    assert httpx.get(f"{url}/ready", timeout=DEADLINE_S).status_code == 200
    place = ("127.0.0.1", int(url.rpartition(":")[2]))
    request = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"

    with standing_still(cluster):
        waiting = [socket.create_connection(place) for _ in range(THREADS * 4)]
        for number, line in enumerate(waiting):
            line.sendall(request % (b"/ready" if number % 4 else b"/ojs/v1/queues"))

        for _ in range(THREADS * 2):
            assert httpx.get(f"{url}/livez", timeout=DEADLINE_S).status_code == 200

    for line in waiting:
        line.close()
    until(lambda: httpx.get(f"{url}/ready", timeout=DEADLINE_S).status_code == 200, "readiness")
