"""Load on a tenant that moves from one cell to another: a producer, and a worker of each cell."""

import http.client
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Final
from urllib.parse import urlsplit

from bench.names import NOOP
from ojs_tasks.ids import new_id

QUEUE: Final = "bench-move"
TENANT: Final = "bench-tenant"
META: Final = {"tenant_id": TENANT}
BATCH: Final = 100
WORKER_JOBS: Final = 5  # of a FETCH
PAUSE_S: Final = 0.02
AFTER_S: Final = 1.0  # of load before and behind the move
DRAIN_S: Final = 120.0
MOVED: Final = re.compile(r"([\d,]+) jobs moved")
FORBIDDEN: Final = 403

Server = tuple[str, str]  # its URL, and an API key


@dataclass(frozen=True, slots=True)
class Outcome:
    """The jobs of the tenant after its move."""

    moved: int
    refused_s: float
    accepted: int
    old_runs: int
    new_runs: int
    lost: int
    twice: int

    @property
    def is_right(self) -> bool:
        """Whether each accepted job ran exactly once, and some jobs moved."""
        return self.moved > 0 and self.lost == self.twice == 0


@dataclass(slots=True)
class Producer:
    """Sends jobs one by one, again after a refusal, to the cell that the refusal names."""

    old: Server
    new: Server
    accepted: list[str] = field(default_factory=list)
    refused_at: float | None = None
    accepted_at: float | None = None  # the first job after the refusals
    is_over: Event = field(default_factory=Event)

    def run(self) -> None:
        """Send jobs until the end."""
        server, job_id = self.old, new_id()
        while not self.is_over.is_set():
            status, answer = call(server, "/jobs", {"id": job_id, **job()})
            if status == FORBIDDEN:
                self.refused_at = self.refused_at or time.perf_counter()
                if "moved_to" in answer["error"]["details"]:
                    server = self.new
                self.is_over.wait(PAUSE_S)
                continue
            if self.refused_at is not None and self.accepted_at is None:
                self.accepted_at = time.perf_counter()
            self.accepted.append(job_id)
            job_id = new_id()


@dataclass(slots=True)
class Worker:
    """Fetches and completes jobs of the tenant in one cell."""

    server: Server
    started: list[str] = field(default_factory=list)
    is_over: Event = field(default_factory=Event)

    def run(self) -> None:
        """Run jobs until the end."""
        name = f"worker-{urlsplit(self.server[0]).port}"
        wish = {"queues": [QUEUE], "count": WORKER_JOBS, "worker_id": name}
        while not self.is_over.is_set():
            _, answer = call(self.server, "/workers/fetch", wish)
            ids = [one["id"] for one in answer["jobs"]]
            self.started += ids
            if ids:
                acks = [{"job_id": one, "worker_id": name} for one in ids]
                call(self.server, "/workers/ack/batch", {"acks": acks})
            else:
                self.is_over.wait(PAUSE_S)


def moved(old: Server, new: Server, backlog: int, move: Callable[[], str]) -> Outcome:
    """Fill the old cell, move the tenant under load, and compare accepted with started jobs.

    `move` runs the command and returns its output.
    """
    producer = Producer(old, new)
    for _ in range(backlog // BATCH):
        jobs = [{"id": new_id(), **job()} for _ in range(BATCH)]
        call(old, "/jobs/batch", {"jobs": jobs})
        producer.accepted += [str(one["id"]) for one in jobs]
    workers = Worker(old), Worker(new)
    threads = [Thread(target=one.run, daemon=True) for one in (producer, *workers)]
    for one in threads:
        one.start()
    time.sleep(AFTER_S)
    found = MOVED.search(move())
    time.sleep(AFTER_S)
    producer.is_over.set()
    threads[0].join()
    _drain(producer, workers)
    for worker in workers:
        worker.is_over.set()
    for one in threads:
        one.join()
    runs = Counter([*workers[0].started, *workers[1].started])
    return Outcome(
        int(found[1].replace(",", "")) if found else 0,
        (producer.accepted_at or time.perf_counter()) - (producer.refused_at or 0.0),
        len(producer.accepted),
        len(workers[0].started),
        len(workers[1].started),
        len(set(producer.accepted) - runs.keys()),
        sum(number - 1 for number in runs.values()),
    )


def _drain(producer: Producer, workers: tuple[Worker, Worker]) -> None:
    end = time.monotonic() + DRAIN_S
    wanted = set(producer.accepted)
    while wanted - {*workers[0].started, *workers[1].started} and time.monotonic() < end:
        time.sleep(PAUSE_S * 10)


def job() -> dict[str, Any]:
    """Return a job of the tenant."""
    return {"type": NOOP, "queue": QUEUE, "args": [], "meta": META}


def call(server: Server, path: str, body: object) -> tuple[int, Any]:
    """Send a request; returns the status and the JSON of the answer. Raises for other refusals."""
    url, key = server
    place = urlsplit(url)
    with closing(http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)) as to:
        headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/openjobspec+json",
        }
        to.request("POST", f"/ojs/v1{path}", json.dumps(body), headers)
        answer = to.getresponse()
        text = answer.read()
    if answer.status >= 400 and answer.status != FORBIDDEN:  # noqa: PLR2004 - statuses
        raise RuntimeError(f"{path} answered {answer.status}: {text[:300]!r}")
    return answer.status, json.loads(text)
