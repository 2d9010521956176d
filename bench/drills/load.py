"""Producers over HTTP that repeat each enqueue until it is accepted, and their journal."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import httpx

from bench.names import NOTED
from jobs.domain.wire.ids import new_id, time_of

CLIENT_S: Final = 15.0  # a client gives up on an answer
PACE_S: Final = 0.05  # between two jobs of a producer
AGAIN_S: Final = 0.2  # between two tries of a request
CONFLICT: Final = 409  # a repeated enqueue whose first answer was lost
QUEUE: Final = "drill"
LONG, LONG_S = 13, 1.0  # of 256 jobs so many run for a second
# of 256 jobs of a mixed load so many run for seconds, are scheduled, and fail once
SLOW, LATER, FAILING = 8, 24, 24
SLOW_S: Final = 3.0
LATER_S: Final = 6.0  # from the moment of a job's id
AGAIN: Final = "PT6S"  # after the failure
RETRY: Final = {"max_attempts": 1000, "initial_interval": "PT0.1S", "max_interval": "PT1S"}


@dataclass
class Window:
    """What clients saw between two moments."""

    began: float
    ended: float = 0.0
    accepted: dict[str, list[float]] = field(default_factory=dict)  # moments, by node
    ids: set[str] = field(default_factory=set)  # of accepted jobs
    errors: Counter[str] = field(default_factory=Counter)
    most_tries: int = 0  # of one request

    def gap_s(self, node: str) -> float:
        """Return the longest time without an accepted enqueue at a node."""
        moments = [self.began, *self.accepted.get(node, []), self.ended]
        return max(later - earlier for earlier, later in pairwise(moments))

    def whole_gap_s(self) -> float:
        """Return the longest time without an accepted enqueue at any node."""
        accepted = sorted(moment for moments in self.accepted.values() for moment in moments)
        return max(
            later - earlier for earlier, later in pairwise([self.began, *accepted, self.ended])
        )

    def named_errors(self) -> str:
        """Return the failed tries by kind, such as `503: 12`."""
        return ", ".join(f"{kind}: {count}" for kind, count in self.errors.most_common()) or "none"


def body_of(job_id: str) -> dict[str, Any]:
    """Return the request that enqueues a job."""
    options = {"queue": QUEUE, "retry": RETRY}
    seconds = LONG_S if int(job_id[-2:], 16) < LONG else 0
    return {"id": job_id, "type": NOTED, "args": [job_id, seconds], "options": options}


def mixed_body(job_id: str) -> dict[str, Any]:
    """Return the same, but some jobs run for seconds, are scheduled, or fail once and wait."""
    body, kind = body_of(job_id), int(job_id[-2:], 16)
    if kind < SLOW:
        body["args"] = [job_id, SLOW_S]
    elif kind < SLOW + LATER:
        due = time_of(job_id) + timedelta(seconds=LATER_S)
        body["options"] |= {"delay_until": due.isoformat(timespec="milliseconds")}
    elif kind < SLOW + LATER + FAILING:
        body["args"] = [job_id, 0, 1]
        body["options"] |= {"retry": RETRY | {"initial_interval": AGAIN, "max_interval": AGAIN}}
    return body


class Load:
    """Producers of several HTTP nodes. `end_window` gives what they saw."""

    def __init__(
        self, nodes: dict[str, str], producers: int = 2, *, changes_node: bool = False,
        body: Callable[[str], dict[str, Any]] = body_of,
    ) -> None:  # fmt: skip
        """Start producers for each node, given by name and URL.

        `changes_node`: a producer repeats a failed request at the next node, as behind a proxy.
        """
        self._body = body
        self._changes_node = changes_node
        self.unexpected: list[str] = []  # answers that no repetition covers
        self._nodes = nodes
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._window = self._new_window()
        self._threads = [
            threading.Thread(target=self._produce, args=(name,), daemon=True)
            for name in nodes
            for _ in range(producers)
        ]
        for thread in self._threads:
            thread.start()

    def begin_window(self) -> None:
        """Begin to count anew."""
        with self._lock:
            self._window = self._new_window()

    def end_window(self) -> Window:
        """Return what clients have seen since the window began."""
        with self._lock:
            found, self._window = self._window, self._new_window()
        found.ended = time.monotonic()
        return found

    def accepted(self, node: str) -> int:
        """Return the number of accepted enqueues at a node in this window."""
        with self._lock:
            return len(self._window.accepted.get(node, []))

    def wait_for_more(self, number: int, bound_s: float) -> bool:
        """Wait until each node has accepted more enqueues; return whether it did so in time.

        Producers that change the node may all be at one: then the sum of all nodes counts.
        """
        groups = [[*self._nodes]] if self._changes_node else [[name] for name in self._nodes]
        goals = [sum(map(self.accepted, group)) + number for group in groups]
        until = time.monotonic() + bound_s
        while time.monotonic() < until:
            sums = [sum(map(self.accepted, group)) for group in groups]
            if all(found >= goal for found, goal in zip(sums, goals, strict=True)):
                return True
            time.sleep(0.1)
        return False

    def stop(self) -> None:
        """Let each producer end its present job, and join the threads."""
        self._over.set()
        for thread in self._threads:
            thread.join(2 * CLIENT_S)

    @staticmethod
    def _new_window() -> Window:
        return Window(time.monotonic())

    def _produce(self, node: str) -> None:
        others = [one for one in self._nodes if one != node] if self._changes_node else []
        names = [node, *others]
        with httpx.Client(timeout=CLIENT_S) as client:
            while not self._over.wait(PACE_S):
                self._enqueue(client, names, new_id())

    def _enqueue(self, client: httpx.Client, names: list[str], job_id: str) -> None:
        tries = 1
        while not self._try(client, self._nodes[node := names[0]], self._body(job_id)):
            names.append(names.pop(0))
            if self._over.wait(AGAIN_S):
                return
            tries += 1
        with self._lock:
            self._window.ids.add(job_id)
            self._window.accepted.setdefault(node, []).append(time.monotonic())
            self._window.most_tries = max(self._window.most_tries, tries)

    def _try(self, client: httpx.Client, url: str, body: dict[str, Any]) -> bool:
        try:
            answer = client.post(f"{url}/ojs/v1/jobs", json=body)
        except httpx.TransportError as problem:
            self._count(type(problem).__name__)
            return False
        if answer.is_success or answer.status_code == CONFLICT:
            return True
        self._count(str(answer.status_code))
        if "Retry-After" not in answer.headers:
            self.unexpected.append(f"{answer.status_code} {answer.text[:200]}")
        return False

    def _count(self, kind: str) -> None:
        with self._lock:
            self._window.errors[kind] += 1


def runs(folder: Path) -> Counter[str]:
    """Return how often handlers ran each job, from the notes of all workers."""
    found: Counter[str] = Counter()
    for path in folder.glob("*.notes"):
        found.update(path.read_text().split())
    return found


def done_by(folder: Path) -> dict[str, int]:
    """Return the number of runs in the notes of each worker."""
    return {path.stem: len(path.read_text().split()) for path in sorted(folder.glob("*.notes"))}


def twice(counts: Counter[str], ids: Sequence[str] | set[str]) -> int:
    """Return the number of these jobs that ran more than once."""
    return sum(1 for one in ids if counts[one] > 1)


def once(counts: Counter[str], ids: Sequence[str] | set[str]) -> int:
    """Return the number of these jobs that ran exactly once."""
    return sum(1 for one in ids if counts[one] == 1)
