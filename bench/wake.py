"""How soon a waiting worker starts a job on an idle server: LISTEN/NOTIFY from end to end."""

import random
import time

from bench.load import Cycle, drive
from bench.names import TIMED
from bench.requests import push
from bench.stack import Stack, StackError

START_S = 30.0
SETTLED_S = 3.0  # a worker's first looks are quick: wait until it only listens
PAUSE_S = (0.05, 0.25)  # between two jobs, so that the lane is empty and the worker asleep

STARTS = f"""
SELECT (result::text::float8 - extract(epoch FROM created_at)) * 1000
  FROM ojs_job WHERE type = '{TIMED}' AND state = 6 ORDER BY id
"""  # noqa: S608 - a constant


def late_ms(stack: Stack, samples: int) -> list[float]:
    """Enqueue jobs one by one over HTTP while a worker waits for them.

    Returns per job the milliseconds from the start of the enqueueing transaction to the first line
    of the handler, sorted.
    """
    worker = stack.begin_worker(TIMED, processes=1)
    try:
        _push(stack)
        _wait_for(stack, 1)
        time.sleep(SETTLED_S)
        for _ in range(samples):
            _push(stack)
            time.sleep(random.uniform(*PAUSE_S))  # noqa: S311 - spreads load, no secret
        _wait_for(stack, samples + 1)
    finally:
        stack.end(worker)
    return sorted(_starts(stack)[-samples:])


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
