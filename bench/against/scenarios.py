"""The load: requests over keep-alive connections, the same bytes for both versions."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final

import orjson

from bench.load import Cycle, drive
from bench.names import CLAIMED, NOOP

JOB_ID: Final = re.compile(rb'"id":"([0-9a-f-]{36})"')
BATCH: Final = 100
ARGS: Final = [1, "x" * 100]
FILLERS: Final = 4
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the table. `begin` prepares a queue and returns the cycles of one slice."""

    name: str
    title: str
    begin: Callable[[int, float], Callable[[], Cycle]]  # of a port, for seconds


def _fresh(tag: str) -> str:
    return f"bench-{tag}-{next(_numbers)}"


def request(method: str, path: str, body: Any = None) -> bytes:
    """Return a request as bytes."""
    head = f"{method} /ojs/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    if body is None:
        return f"{head}\r\n".encode()
    text = orjson.dumps(body)
    kind = "Content-Type: application/openjobspec+json\r\n"
    return f"{head}{kind}Content-Length: {len(text)}\r\n\r\n".encode() + text


def job(queue: str, **more: Any) -> dict[str, Any]:
    """Return a job without work."""
    return {"type": NOOP, "args": ARGS, "options": {"queue": queue}, **more}


def fill(port: int, queue: str, number: int, tenants: int = 1) -> None:
    """Store a backlog, of one tenant or spread over many."""
    left = iter(range(-(-number // BATCH)))

    def cycle() -> Cycle:
        n = next(left, None)
        if n is not None:
            spread = [
                job(queue, meta={"tenant_id": f"t{(n * BATCH + k) % tenants}"}) if tenants > 1
                else job(queue)
                for k in range(BATCH)
            ]  # fmt: skip
            yield request("POST", "/jobs/batch", {"jobs": spread})
        else:
            yield request("GET", "/health")
            done.append(1)
        return BATCH

    done: list[int] = []
    while len(done) < FILLERS:
        drive(port, cycle, FILLERS, 0.5)


def _repeat(sent: bytes, jobs: int) -> Callable[[], Cycle]:
    def cycle() -> Cycle:
        yield sent
        return jobs

    return cycle


def _enqueue(_port: int, _seconds: float) -> Callable[[], Cycle]:
    return _repeat(request("POST", "/jobs", job(_fresh("enqueue"))), 1)


def _batch(_port: int, _seconds: float) -> Callable[[], Cycle]:
    body = {"jobs": [job(_fresh("batch"))] * BATCH}
    return _repeat(request("POST", "/jobs/batch", body), BATCH)


def _workers() -> Iterator[str]:
    return (f"w{n}" for n in count())


def _fetch(queue: str, number: int, worker: str) -> bytes:
    body = {"queues": [queue], "count": number, "worker_id": worker}
    return request("POST", "/workers/fetch", body)


def _ack(job_id: bytes) -> bytes:
    return request("POST", "/workers/ack", {"job_id": job_id.decode(), "result": {"ok": True}})


def _cycle(_port: int, _seconds: float) -> Callable[[], Cycle]:
    queue = _fresh("cycle")
    stored, fetched = request("POST", "/jobs", job(queue)), _fetch(queue, 1, "w1")

    def cycle() -> Cycle:
        yield stored
        ids = JOB_ID.findall((yield fetched))
        for one in ids:
            yield _ack(one)
        return len(ids)

    return cycle


def _drain(size: int, needed: int, port: int, seconds: float) -> Callable[[], Cycle]:
    queue = _fresh("drain")
    fill(port, queue, round(needed * seconds))
    fetched = _fetch(queue, size, "w1")

    def cycle() -> Cycle:
        ids = JOB_ID.findall((yield fetched))
        for one in ids:
            yield _ack(one)
        return len(ids)

    return cycle


def _get(port: int, _seconds: float) -> Callable[[], Cycle]:
    found: list[bytes] = []

    def store() -> Cycle:
        found.extend(JOB_ID.findall((yield request("POST", "/jobs", job(_fresh("get"))))))
        return 1

    drive(port, store, 1, 0)
    if not found:
        drive(port, store, 1, 0.1)
    return _repeat(request("GET", f"/jobs/{found[0].decode()}"), 1)


def _empty(_port: int, _seconds: float) -> Callable[[], Cycle]:
    return _repeat(_fetch(_fresh("empty"), 1, "w1"), 1)


def _health(_port: int, _seconds: float) -> Callable[[], Cycle]:
    return _repeat(request("GET", "/health"), 1)


SCENARIOS: Final = (
    Scenario("enqueue", "POST /jobs", _enqueue),
    Scenario("batch", "POST /jobs/batch of 100", _batch),
    Scenario("cycle1", "enqueue, fetch 1, ack", _cycle),
    Scenario("drain1", "fetch 1 + ack", partial(_drain, 1, 4_000)),
    Scenario("drain50", "fetch 50 + single acks", partial(_drain, 50, 8_000)),
    Scenario("get", "GET /jobs/{id}", _get),
    Scenario("fetch_empty", "FETCH of an empty queue", _empty),
    Scenario("health", "GET /health", _health),
)
WORKER: Final = {"worker": 1, "worker1000": 1000}  # tenants by path of runworker


def worker_backlog(port: int, number: int, tenants: int) -> None:
    """Store the jobs of the worker's paths."""
    fill(port, CLAIMED, number, tenants)
