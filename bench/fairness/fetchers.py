"""Fetchers over HTTP that send requests without pauses, and record the answers."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection
from random import Random
from typing import Any

import orjson

TIMEOUT_S = 120.0
LOOK_S = 0.005
MOST_IDLE = 200  # answers without a job, of all fetchers, before they stop
MEDIA_TYPE = "application/openjobspec+json"


class ApiError(Exception):
    """The server refused a request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Jobs of one FETCH in the order of the claim's decision, and the time of arrival."""

    asked: int
    ids: tuple[str, ...]
    at: float  # seconds since 1970


class Api:
    """One keep-alive connection to a server."""

    def __init__(self, port: int, key: str) -> None:
        """Connect at the first request."""
        self._connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": MEDIA_TYPE}

    def send(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request and return the answer's body. Raises ApiError."""
        sent = None if body is None else orjson.dumps(body)
        self._connection.request(method, f"/ojs/v1/{path}", sent, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 300:  # noqa: PLR2004 - of the class of success
            raise ApiError(f"{method} {path}: {answer.status} {text[:500]!r}")
        found: dict[str, Any] = orjson.loads(text) if text else {}
        return found

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@dataclass(slots=True)
class Fetched:
    """The answers of all fetchers, in the order of arrival."""

    answers: list[Answer] = field(default_factory=list)
    jobs: int = 0
    idle: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_for(self, jobs: int) -> None:
        """Return after this number of jobs has arrived."""
        while self.jobs < jobs:
            time.sleep(LOOK_S)

    def note(self, answer: Answer) -> None:
        """Add an answer."""
        with self._lock:
            self.answers.append(answer)
            self.jobs += len(answer.ids)
            self.idle += not answer.ids


@dataclass(frozen=True, slots=True)
class Fetchers:
    """A number of concurrent fetchers; each draws its counts with its own generator of `seed`."""

    port: int
    key: str
    number: int
    seed: int

    def fetch(
        self,
        wish: Mapping[str, Any],
        total: int,
        most: int,
        meanwhile: Callable[[Fetched], None] | None = None,
    ) -> Fetched:
        """Fetch 1 to `most` jobs at a time up to `total`; `meanwhile` runs concurrently."""
        fetched = Fetched()
        with ThreadPoolExecutor(self.number + 1) as pool:
            works = [pool.submit(self._work, n, wish, total, most, fetched)
                     for n in range(self.number)]  # fmt: skip
            if meanwhile is not None:
                works.append(pool.submit(meanwhile, fetched))
            for work in works:
                work.result()
        return fetched

    def _work(
        self, number: int, wish: Mapping[str, Any], total: int, most: int, fetched: Fetched
    ) -> None:
        draw = Random(f"{self.seed}.{number}")  # noqa: S311 - must be repeatable
        api = Api(self.port, self.key)
        while fetched.jobs < total and fetched.idle < MOST_IDLE:
            asked = draw.randint(1, most)
            jobs = api.send("POST", "workers/fetch", {**wish, "count": asked})["jobs"]
            fetched.note(Answer(asked, tuple(job["id"] for job in jobs), time.time()))
        api.close()
