"""The latency from enqueue to start with a waiting worker on an idle server: LISTEN/NOTIFY."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread

from bench.database import Database
from bench.load import Cycle, drive
from bench.names import TIMED
from bench.requests import push
from bench.stack import Stack, StackError

START_S = 30.0
SETTLED_S = 3.0  # a new worker polls often: wait until it only listens
PAUSE_S = (0.05, 0.25)  # between two jobs, so that the lane is empty and the worker asleep
CHANNEL = "bench_alone"

STARTS = f"""
SELECT (result::text::float8 - extract(epoch FROM created_at)) * 1000
  FROM ojs_job WHERE type = '{TIMED}' AND state = 6 ORDER BY id
"""  # noqa: S608 - a constant
# the message makes its commit wait for the disk, like the commit of a job
NOTIFY = (
    f"SELECT pg_notify('{CHANNEL}', extract(epoch FROM clock_timestamp())::text),"  # noqa: S608
    " pg_logical_emit_message(true, 'bench', '')"
)


@dataclass(slots=True)
class Wakes:
    """Milliseconds, one per sample.

    `jobs`: from the start of the enqueueing transaction to the first line of the handler. `alone`:
    from a NOTIFY that is committed to disk to a Python thread that listens, alternating with the
    jobs.
    """

    jobs: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)


def measure(stack: Stack, samples: int) -> Wakes:
    """Enqueue jobs one by one over HTTP while a worker waits for them."""
    found = Wakes()
    worker = stack.begin_worker(TIMED, processes=1)
    try:
        _push(stack)
        _wait_for(stack, 1)
        time.sleep(SETTLED_S)
        with _bare(stack.database) as notify:
            for _ in range(samples):
                _push(stack)
                _rest()
                found.alone.append(notify())
                _rest()
        _wait_for(stack, samples + 1)
    finally:
        stack.end(worker)
    found.jobs = _starts(stack)[-samples:]
    return found


class _Bare:
    """Notifies a thread; a call returns the milliseconds that it took."""

    def __init__(self, database: Database) -> None:
        self._arrived: SimpleQueue[float] = SimpleQueue()
        self._speaking = database.connect()
        self._listening = database.connect()
        self._listening.execute(f"LISTEN {CHANNEL}")
        Thread(target=self._listen, daemon=True).start()

    def __call__(self) -> float:
        self._speaking.execute(NOTIFY.encode())
        return self._arrived.get(timeout=START_S)

    def _listen(self) -> None:
        for note in self._listening.notifies(stop_after=None):
            if not note.payload:
                return
            self._arrived.put((time.time() - float(note.payload)) * 1000)

    def close(self) -> None:
        self._speaking.execute(f"NOTIFY {CHANNEL}")
        self._speaking.close()


@contextmanager
def _bare(database: Database) -> Iterator[_Bare]:
    bare = _Bare(database)
    try:
        yield bare
    finally:
        bare.close()


def _rest() -> None:
    time.sleep(random.uniform(*PAUSE_S))  # noqa: S311 - spreads load, no secret


def _push(stack: Stack) -> None:
    drive(stack.port, lambda: _one(stack.key), 1, 0)


def _one(key: str) -> Cycle:
    yield push(key, {"type": TIMED, "queue": TIMED, "args": []})
    return 1


def _wait_for(stack: Stack, jobs: int) -> None:
    until = time.monotonic() + START_S
    while len(_starts(stack)) < jobs:
        if time.monotonic() > until:
            raise StackError("the worker did not start what was enqueued")
        time.sleep(0.1)


def _starts(stack: Stack) -> list[float]:
    with stack.database.connect() as connection:
        return [row[0] for row in connection.execute(STARTS.encode())]
