"""Producers and workers over HTTP, and a journal of the server's answers."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from bench.faults.arena import SILENCE_MS
from jobs.domain.wire.ids import new_id

PATIENCE_S = 40.0  # a request without an answer in this time hangs
PACE_S = 0.02
LEASE_MS = 6000
CONFLICT, UNAVAILABLE = 409, 503
GIVEN_BACK = 0.05  # share of a worker's jobs
QUEUE, HELD_QUEUE, TYPE = "load", "held", "bench.load"
RETRY = {"max_attempts": 1000, "initial_interval": "PT0.1S", "max_interval": "PT0.1S"}


@dataclass(slots=True)
class Grant:
    """A job that a worker holds; the server granted the lease after `asked_at`."""

    worker: str
    asked_at: float
    lease_s: float
    beats: bool  # the worker heartbeats, so that its silence ends the lease
    is_answered: bool = False  # an ACK or FAIL was sent, with any result


class Journal:
    """The acknowledged jobs, and the violations of promises."""

    def __init__(self) -> None:
        """Begin empty."""
        self.stored: set[str] = set()
        self.completed: set[str] = set()
        self.doubled: list[str] = []
        self.wrong: list[str] = []
        self.refused = 0
        self.worst_s = 0.0
        self._grants: dict[str, Grant] = {}
        self._signs: dict[str, float] = {}
        self._lock = threading.Lock()

    def grant(self, job_id: str, grant: Grant, answered_at: float) -> None:
        """Record a handed-out job; a second grant during a lease breaks a promise."""
        with self._lock:
            before = self._grants.get(job_id)
            if before and not before.is_answered and answered_at < self._holds_until(before):
                self.doubled.append(f"{job_id}: {before.worker}, then {grant.worker}")
            self._grants[job_id] = grant

    def _holds_until(self, grant: Grant) -> float:
        lease = grant.asked_at + grant.lease_s
        if not grant.beats:
            return lease
        return min(lease, self._signs.get(grant.worker, grant.asked_at) + SILENCE_MS / 1000)

    def answer(self, job_id: str) -> None:
        """Record that the holder is about to send an ACK or FAIL."""
        with self._lock:
            if grant := self._grants.get(job_id):
                grant.is_answered = True

    def sign(self, worker: str, sent_at: float) -> None:
        """Record an answered request of a worker."""
        with self._lock:
            self._signs[worker] = max(sent_at, self._signs.get(worker, 0.0))

    def forget(self, ids: set[str]) -> None:
        """Drop what is known of jobs, before retention removes them from the database."""
        with self._lock:
            self.stored -= ids
            self.completed -= ids
            for job_id in ids:
                self._grants.pop(job_id, None)

    def window(self) -> tuple[float, int]:
        """Return the slowest answer in seconds and the number of refusals since the last call."""
        with self._lock:
            found = self.worst_s, self.refused
            self.worst_s, self.refused = 0.0, 0
        return found

    def judge(self, answer: httpx.Response, took_s: float) -> None:
        """Record the time of an answer, and whether the contract allows it."""
        with self._lock:
            self.worst_s = max(self.worst_s, took_s)
            if answer.is_success or answer.status_code == CONFLICT:
                return
            if answer.status_code == UNAVAILABLE and "Retry-After" in answer.headers:
                self.refused += 1
            else:
                self.wrong.append(f"{answer.request.url.path} {answer.status_code}")

    def hang(self, path: str) -> None:
        """Record a request without an answer."""
        with self._lock:
            self.worst_s = max(self.worst_s, PATIENCE_S)
            self.wrong.append(f"{path} hangs")


class Client:
    """One connection of a producer or worker; after a failure it is made again."""

    def __init__(self, url: str, journal: Journal) -> None:
        """Connect with the first request."""
        self._http = httpx.Client(base_url=url, timeout=PATIENCE_S)
        self._journal = journal

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def ask(self, path: str, **body: Any) -> dict[str, Any] | None:
        """Send one request; None: refused, or the connection broke."""
        begin = time.monotonic()
        answer = self._answer("POST", path, body)
        if answer is None or not answer.is_success:
            return {} if answer is not None and answer.status_code == CONFLICT else None
        worker = body.get("worker_id")
        if worker:
            self._journal.sign(worker, begin)
        return dict(answer.json())

    def cancel(self, job_id: str) -> None:
        """Cancel a job that may have ended."""
        self._answer("DELETE", f"jobs/{job_id}", None)

    def _answer(self, method: str, path: str, body: Any) -> httpx.Response | None:
        """Send one request and judge its answer; None: there is none."""
        begin = time.monotonic()
        try:
            answer = self._http.request(method, f"/ojs/v1/{path}", json=body)
        except httpx.TimeoutException:
            self._journal.hang(path)
            return None
        except httpx.TransportError:
            return None
        self._journal.judge(answer, time.monotonic() - begin)
        return answer

    def fetch(
        self, queue: str, worker: str, count: int, *, lease_ms: int = LEASE_MS, beats: bool = False
    ) -> list[str]:
        """Claim jobs and return their ids."""
        begin = time.monotonic()
        found = self.ask(
            "workers/fetch", queues=[queue], count=count, worker_id=worker,
            visibility_timeout_ms=lease_ms,
        )  # fmt: skip
        end = time.monotonic()
        ids = [job["id"] for job in (found or {}).get("jobs", [])]
        for job_id in ids:
            self._journal.grant(job_id, Grant(worker, begin, lease_ms / 1000, beats), end)
        return ids

    def ack(self, job_id: str, worker: str) -> None:
        """Complete a job. An ACK without an answer may have succeeded."""
        self._journal.answer(job_id)
        answer = self.ask("workers/ack", job_id=job_id, worker_id=worker)
        if answer:
            self._journal.completed.add(job_id)

    def give_back(self, job_id: str, worker: str) -> None:
        """Return a job by a NACK with `requeue`."""
        self._journal.answer(job_id)
        self.ask("workers/nack", job_id=job_id, worker_id=worker, requeue=True)

    def enqueue(self, queue: str, number: int = 1, kind: str = TYPE, **args: Any) -> list[str]:
        """Store jobs in order, repeat each batch until it is acknowledged, and return the ids."""
        ids = [new_id() for _ in range(number)]
        options = {"queue": queue, "retry": RETRY}
        for begin in range(0, number, 100):
            chunk = ids[begin : begin + 100]
            jobs = [{"id": one, "type": kind, "args": [args], "options": options} for one in chunk]
            while self.ask("jobs/batch", jobs=jobs) is None:  # 409: stored, the answer was lost
                time.sleep(PACE_S)
            self._journal.stored.update(chunk)
        return ids


class Load:
    """Threads that use a server until `stop`."""

    def __init__(self, url: str, seed: int) -> None:
        """Start producers, workers that only FETCH and ACK, and workers that heartbeat."""
        self.url, self.journal = url, Journal()
        self._over, self._full = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._clients: list[Client] = []
        self._producers = [self.start(self._produce), self.start(self._produce)]
        self._producers.append(self.start(self._hold))
        for number in range(2):
            self.start(self._work, f"plain-{number}", seed + number, QUEUE)
            self.start(self._beat_and_work, f"beats-{number}", seed - number)

    def client(self) -> Client:
        """Return a new connection; `stop` closes it."""
        made = Client(self.url, self.journal)
        self._clients.append(made)
        return made

    def start(self, work: Callable[..., None], *arguments: Any) -> threading.Thread:
        """Run a function in a thread that ends before `stop` returns."""
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def stop(self, drained: Callable[[], bool]) -> None:
        """End the producers, then, after all jobs have ended, the workers."""
        self._full.set()
        for thread in self._producers:  # a job that is stored later would never end
            thread.join(2 * PATIENCE_S)
        self.start(self._work, "after-holder", 0, HELD_QUEUE)
        until = time.monotonic() + 120
        while not drained() and time.monotonic() < until:
            time.sleep(0.1)
        self._over.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE_S)
        for client in self._clients:
            client.close()

    def _produce(self) -> None:
        client = self.client()
        while not self._full.wait(PACE_S):
            client.enqueue(QUEUE)

    def _beat_and_work(self, name: str, seed: int) -> None:
        self._work(name, seed, QUEUE, beats=True)

    def _work(self, name: str, seed: int, queue: str, *, beats: bool = False) -> None:
        client, draw = self.client(), random.Random(seed)  # noqa: S311 - repeatable
        while not self._over.wait(PACE_S):
            if beats:
                client.ask("workers/heartbeat", worker_id=name, active_jobs=[])
            for job_id in client.fetch(queue, name, 5, beats=beats):
                if draw.random() < GIVEN_BACK:
                    client.give_back(job_id, name)
                else:
                    client.ack(job_id, name)

    def _hold(self) -> None:
        """Act as a worker that heartbeats once and holds one job far longer than the silence."""
        client, name = self.client(), "holder"
        client.enqueue(HELD_QUEUE, 1)
        while not self._full.is_set():
            client.ask("workers/heartbeat", worker_id=name, active_jobs=[])
            held = client.fetch(HELD_QUEUE, name, 1, lease_ms=60_000, beats=True)
            until = time.monotonic() + 4 * SILENCE_MS / 1000
            while time.monotonic() < until and not self._full.wait(0.2):
                client.fetch("empty", name, 1, beats=True)
            for job_id in held:
                client.ack(job_id, name)
            client.enqueue(HELD_QUEUE, 1)
