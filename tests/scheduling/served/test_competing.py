"""Many workers of many processes: each job goes to exactly one worker. Spec: FS 4, 5."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import httpx
import pytest

from tests.concurrency import at_once
from tests.conftest import wait_until_answering
from tests.crash.conftest import Run, Store, processes, serve  # noqa: F401 - a fixture
from tests.processes import DEADLINE_S, children, until
from tests.scheduling.served.conftest import Served
from tests.spec import spec

Held = tuple[str, str, int]  # job, worker, attempt


def drained(served: Served, worker_id: str, count: int, **wish: Any) -> list[Held]:
    """Fetch until no job is left; return the jobs that the worker got."""
    got: list[Held] = []
    while jobs := served.fetch(count, worker_id=worker_id, **wish):
        got += [(job["id"], worker_id, job["attempt"]) for job in jobs]
    return got


@spec("FS-4.1-a", "FS-5.1-a")
def test_16_threads_fetch_500_jobs_once_each(served: Served) -> None:
    ids = served.fill(q=500)

    works = [partial(drained, served, f"w{n}", 1, queues=["q"]) for n in range(16)]
    got = [held for part in at_once(works) for held in part]

    assert sorted(job_id for job_id, _, _ in got) == sorted(ids)
    assert {attempt for _, _, attempt in got} == {1}


@spec("FS-5.1-c")
def test_clients_that_share_nothing_do_not_get_the_same_job(served: Served, server: str) -> None:
    ids = served.fill(a=60, b=60)
    others = [Served(server) for _ in range(4)]

    got = at_once([partial(anonymous, one) for one in others])

    assert sorted(job_id for part in got for job_id in part) == sorted(ids)


def anonymous(served: Served) -> list[str]:
    """Fetch without a worker id until no job is left, then close the connections."""
    got: list[str] = []
    with closing(served):
        while jobs := served.fetch(3, queues=["a", "b"]):
            got += [job["id"] for job in jobs]
    return got


@spec("FS-4.2-a")
def test_a_worker_cannot_choose_its_job(served: Served) -> None:
    first, second = served.fill(q=2)

    wish = {"queues": ["q"], "id": second, "job_id": second, "ids": [second]}
    assert [job["id"] for job in served.fetch(1, **wish)] == [first]


@spec("FS-4.4-a")
def test_under_overload_low_work_is_late_and_nothing_is_lost(served: Served) -> None:
    stored = set(served.fill(critical=60, low=30))
    served.put("p", "critical", "low", strategy="strict", concurrency=3)
    done: set[str] = set()
    stop = threading.Event()

    def work(worker_id: str) -> None:
        while not stop.is_set():
            for job in served.fetch(2, pool="p", worker_id=worker_id):
                served.ack(job, worker_id)
                done.add(job["id"])
            if len(done) == 120:
                stop.set()

    def produce() -> None:
        for _ in range(3):
            stored.update(served.fill(critical=10))

    works: list[Callable[[], None]] = [produce, *[partial(work, f"w{n}") for n in range(8)]]
    at_once(works)

    assert done == stored
    states = Counter(map(served.state, stored))
    assert states == {"completed": 120}


class Storm:
    """Workers that fetch while processes of the server are killed, and the jobs they received."""

    def __init__(self, url: str) -> None:
        """Use the server at this URL."""
        self.told: list[tuple[str, str]] = []
        self.stop = threading.Event()
        self._url = f"{url}/ojs/v1/workers/fetch"

    def fetch(self, worker_id: str) -> None:
        """Fetch as one worker until the storm stops."""
        wish = {"queues": ["a", "b"], "count": 2, "worker_id": worker_id}
        with httpx.Client(timeout=DEADLINE_S) as client:
            while not self.stop.is_set():
                try:
                    answer = client.post(self._url, json=wish)
                except httpx.TransportError:
                    continue  # the answer was lost with the killed process
                if answer.status_code == httpx.codes.OK:
                    self.told += [(job["id"], worker_id) for job in answer.json()["jobs"]]

    def kill(self, parent: int) -> None:
        """Kill two processes of the server during the fetches."""
        try:
            for enough in (60, 160):
                until(lambda enough=enough: len(self.told) >= enough, "fetches")  # type: ignore[misc]
                os.kill(children(parent)[0], signal.SIGKILL)
            until(lambda: len(self.told) >= 260, "fetches by the processes that are left")
        finally:
            self.stop.set()


UNDER_WAY = """
SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
   AND backend_type = 'client backend' AND xact_start IS NOT NULL
"""


@pytest.mark.xdist_group("crash")
@pytest.mark.usefixtures("store")
@spec("FS-5.1-b")
def test_a_killed_process_leaves_each_job_with_one_worker_or_available(
    processes: Run,  # noqa: F811 - the fixture
    database_url: str,
) -> None:
    url, parent = serve(processes, database_url)
    wait_until_answering(url)
    store, storm = Store(database_url), Storm(url)
    with closing(Served(url)) as served:
        ids = set(served.fill(a=400, b=400))

        at_once([
            partial(storm.kill, parent.pid), *[partial(storm.fetch, f"w{n}") for n in range(8)]
        ])  # fmt: skip
        until(lambda: not store.rows(UNDER_WAY), "the end of the killed processes' sessions")

        rows = store.rows("SELECT id::text, worker_id FROM ojs_lease")
        held = {str(job_id): worker_id for job_id, worker_id in rows}
        waiting = {str(row[0]) for row in store.rows("SELECT id FROM ojs_ready")}
        assert store.misplaced() == []
        assert waiting | set(held) == ids
        assert None not in held.values()
        told = dict(storm.told)
        assert len(told) == len(storm.told)
        # answers with the other leases were lost with the killed processes
        assert told.items() <= held.items()
        assert {served.state(job_id) for job_id in list(told)[:20]} == {"active"}
        assert {served.state(job_id) for job_id in list(waiting)[:20]} == {"available"}
