"""The requests of the HTTP paths as bytes, and the cycles of these requests."""

import random
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from bench.load import Cycle
from bench.names import ARGS, CLAIMED, CYCLED, ENQUEUED, GROUPED, META, NOOP

JOB_ID = re.compile(rb'"id":"([0-9a-f-]{36})"')
WORKER = "bench-worker"

Make = Callable[[str], Callable[[], Cycle]]  # from an API key


def enqueue(
    batch: int, key: str, *, queue: str = ENQUEUED, meta: Mapping[str, str] = META
) -> Callable[[], Cycle]:
    """Store `batch` jobs per request."""
    one = {"type": NOOP, "queue": queue, "args": ARGS, "meta": meta}
    path, body = ("/jobs", one) if batch == 1 else ("/jobs/batch", {"jobs": [one] * batch})
    return partial(_once, _request(key, path, orjson.dumps(body)), batch)


def enqueue_unique(key: str) -> Callable[[], Cycle]:
    """Store one job with a new fingerprint per request."""
    return partial(_once_unique, key)


def _once_unique(key: str) -> Cycle:
    args = [*ARGS, secrets.token_hex(8)]
    yield push(key, {"type": NOOP, "queue": ENQUEUED, "args": args, "meta": META, "unique": {}})
    return 1


def cycle(key: str) -> Callable[[], Cycle]:
    """Store one job, claim one of its queue and acknowledge it."""
    wish: dict[str, Any] = {"queues": [CYCLED], "count": 1, "worker_id": WORKER}
    store = push(key, {"type": NOOP, "queue": CYCLED, "args": ARGS, "meta": META})
    fetch = _request(key, "/workers/fetch", orjson.dumps(wish))
    return partial(_stored_and_claimed, store, fetch, key)


def _stored_and_claimed(store: bytes, fetch: bytes, key: str) -> Cycle:
    yield store
    ids = JOB_ID.findall((yield fetch))
    if ids:
        yield _ack_one(key, ids)
    return len(ids)


def get(key: str, ids: Sequence[str]) -> Callable[[], Cycle]:
    """Read one of the jobs, chosen at random."""
    return partial(_got, [_read(key, f"/jobs/{job_id}") for job_id in ids])


def _got(requests: Sequence[bytes]) -> Cycle:
    yield random.choice(requests)  # noqa: S311 - no secret
    return 1


def listed(key: str, state: str, number: int) -> Callable[[], Cycle]:
    """Read the first `number` jobs of a state."""
    return partial(_once, _read(key, f"/jobs?state={state}&limit={number}"), 1)


def push(key: str, job: dict[str, Any]) -> bytes:
    """Return the request that stores one job."""
    return _request(key, "/jobs", orjson.dumps(job))


def _once(request: bytes, jobs: int) -> Cycle:
    yield request
    return jobs


def claim(batch: int, key: str) -> Callable[[], Cycle]:
    """Claim up to `batch` jobs and acknowledge them: one by one for 1, else in one request."""
    wish: dict[str, Any] = {"queues": [CLAIMED], "count": batch, "worker_id": WORKER}
    fetch = _request(key, "/workers/fetch", orjson.dumps(wish))
    return partial(_claimed, fetch, _ack_one if batch == 1 else _ack_all, key)


def _claimed(fetch: bytes, ack: Callable[[str, list[bytes]], bytes], key: str) -> Cycle:
    ids = JOB_ID.findall((yield fetch))
    if ids:
        yield ack(key, ids)
    return len(ids)


def group(size: int, key: str, *, plain: bool = False) -> Callable[[], Cycle]:
    """Claim 100 members and acknowledge them; if none is left, store a group of `size`.

    `plain`: the same number of jobs without a workflow.
    """
    one = {"type": NOOP, "args": ARGS, "meta": META, "options": {"queue": GROUPED}}
    path, form = ("/jobs/batch", {}) if plain else ("/workflows", {"type": "group"})
    create = _request(key, path, orjson.dumps({**form, "jobs": [one] * size}))
    wish: dict[str, Any] = {"queues": [GROUPED], "count": 100, "worker_id": WORKER}
    return partial(_grouped, create, _request(key, "/workers/fetch", orjson.dumps(wish)), key, [])


def _grouped(create: bytes, fetch: bytes, key: str, creating: list[bool]) -> Cycle:
    ids = JOB_ID.findall((yield fetch))
    if ids:
        yield _ack_all(key, ids)
    elif not creating:  # by another connection of this process
        creating.append(True)
        yield create
        creating.clear()
    return len(ids)


def _ack_one(key: str, ids: list[bytes]) -> bytes:
    body = b'{"job_id":"%s","worker_id":"%s"}' % (ids[0], WORKER.encode())
    return _request(key, "/workers/ack", body)


def _ack_all(key: str, ids: list[bytes]) -> bytes:
    items = (b'{"job_id":"%s","worker_id":"%s"}' % (job_id, WORKER.encode()) for job_id in ids)
    return _request(key, "/workers/ack/batch", b'{"acks":[%s]}' % b",".join(items))


def _read(key: str, path: str) -> bytes:
    head = f"GET /ojs/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n"
    return head.encode()


def _request(key: str, path: str, body: bytes) -> bytes:
    head = (
        f"POST /ojs/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/openjobspec+json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
