"""Producers and workers over HTTP that record each acknowledgement of the server."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import httpx

from jobs.domain.wire.ids import new_id

PATIENCE_S = 40.0  # no answer within this time is a hang
PACE_S = 0.005
RETRY = {"max_attempts": 100, "initial_interval": "PT0.1S", "max_interval": "PT0.1S"}


class Journal:
    """The acknowledged enqueues and ACKs, the correct refusals, and the problems."""

    def __init__(self) -> None:
        """Start empty."""
        self.stored: set[str] = set()
        self.completed: set[str] = set()
        self.refusals: Counter[str] = Counter()
        self.problems: list[str] = []
        self._lock = threading.Lock()

    def store(self, job_id: str) -> None:
        """Record an acknowledged enqueue."""
        with self._lock:
            self.stored.add(job_id)

    def complete(self, job_id: str) -> None:
        """Record an acknowledged ACK."""
        with self._lock:
            self.completed.add(job_id)

    def check_refusal(self, answer: httpx.Response) -> None:
        """Record a refusal: a correct 503 in the error shape, otherwise a problem."""
        try:
            error = answer.json()["error"]
            is_right = (
                answer.status_code == 503
                and error["code"] == "backend_unavailable"
                and error["retryable"] is True
                and "Retry-After" in answer.headers
            )
        except (ValueError, KeyError, TypeError):
            is_right = False
        with self._lock:
            if is_right:
                self.refusals[str(answer.request.url.path)] += 1
            else:
                self.problems.append(f"{answer.request.url} {answer.status_code} {answer.text}")


class Load:
    """Threads that use a server until the end of the `with` block."""

    def __init__(self, url: str, *, may_disconnect: bool) -> None:
        """Prepare a load; `may_disconnect` permits lost connections when a test kills servers."""
        self.url = url
        self.journal = Journal()
        self._may_disconnect = may_disconnect
        self._producing = threading.Event()
        self._working = threading.Event()
        self._producing.set()
        self._working.set()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Start without threads; the methods below add them."""
        return self

    def __exit__(self, *_problem: object) -> None:
        """Stop and join all threads."""
        self._producing.clear()
        self._working.clear()
        for thread in self._threads:
            thread.join()

    def stop_producing(self) -> None:
        """Stop the producers; the workers go on."""
        self._producing.clear()

    def produce(self, number: int, queue: str, kind: str) -> None:
        """Add producer threads that send jobs of a type to a queue."""
        for _ in range(number):
            self._start(self._produce, queue, kind)

    def work(self, number: int, queue: str) -> None:
        """Add worker threads for a queue."""
        for n in range(number):
            self._start(self._work, queue, f"remote-{n}")

    def _start(self, run: Callable[..., None], *arguments: str) -> None:
        thread = threading.Thread(target=run, args=arguments)
        thread.start()
        self._threads.append(thread)

    def _produce(self, queue: str, kind: str) -> None:
        with httpx.Client(base_url=self.url, timeout=PATIENCE_S) as client:
            while self._producing.is_set():
                job_id = new_id()
                body = {
                    "id": job_id, "type": kind, "args": [job_id],
                    "options": {"queue": queue, "retry": RETRY},
                }  # fmt: skip
                answer = self._ask(client, "/ojs/v1/jobs", body)
                # 409: an earlier attempt was stored and its response was lost
                if answer is not None and answer.status_code in {201, 409}:
                    self.journal.store(job_id)
                self._pause()

    def _work(self, queue: str, name: str) -> None:
        wanted = {"queues": [queue], "count": 5, "worker_id": name, "visibility_timeout_ms": 8000}
        with httpx.Client(base_url=self.url, timeout=PATIENCE_S) as client:
            while self._working.is_set():
                answer = self._ask(client, "/ojs/v1/workers/fetch", wanted)
                jobs = answer.json()["jobs"] if answer is not None else []
                for job in jobs:
                    self._ack(client, job["id"], name)
                if not jobs:
                    self._pause()

    def _ack(self, client: httpx.Client, job_id: str, name: str) -> None:
        answer = self._ask(client, "/ojs/v1/workers/ack", {"job_id": job_id, "worker_id": name})
        # 409: an earlier attempt was stored, or the lease is lost; the journal counts neither
        if answer is not None and answer.status_code == 200:
            assert answer.json()["acknowledged"] is True
            self.journal.complete(job_id)

    def _ask(self, client: httpx.Client, path: str, body: dict[str, Any]) -> httpx.Response | None:
        """Send until the server answers 200, 201 or 409; return None if the load ends before."""
        while self._working.is_set():
            try:
                answer = client.post(path, json=body)
            except httpx.TimeoutException:
                self.journal.problems.append(f"{path} did not answer within {PATIENCE_S} s")
            except httpx.TransportError as problem:
                if not self._may_disconnect:
                    self.journal.problems.append(f"{path}: {problem!r}")
            else:
                if answer.status_code in {200, 201, 409}:
                    return answer
                self.journal.check_refusal(answer)
            self._pause()
        return None

    def _pause(self) -> None:
        threading.Event().wait(PACE_S)
