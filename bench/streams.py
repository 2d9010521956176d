"""Event streams under load: the rate of each of many clients against the rate of one client."""

import selectors
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from bench import requests
from bench.cpu import metered
from bench.load import SHOWN_BYTES, LoadError, Measured, drive

if TYPE_CHECKING:
    from bench.paths import Target

SETTINGS = {  # the benchmark must not reach the limits
    "OJS_STREAM_LIMIT": "1000",
    "OJS_STREAM_LIMIT_PER_CLIENT": "1000",
    "OJS_STREAM_BUFFER": "1000000",
    "OJS_STREAM_EVENTS_PER_SECOND": "1000000",
}
BATCH = 10  # jobs per request of the producers
PRODUCERS = 2
DRAIN_S = 1.0  # for the last events after the end of the load
BEGIN_S = 30.0
EVENT = b"\nevent: job.enqueued\n"


def fan_out(streams: int, target: "Target", _clients: int, seconds: float) -> Measured:
    """Follow `streams` times while jobs are enqueued; `jobs` is the average of a stream."""
    followed = [_open(target.stack.port, target.stack.key) for _ in range(streams)]
    load = partial(requests.enqueue, BATCH)(target.stack.key)
    try:
        with metered() as meter:
            began = time.perf_counter()
            done = target.client.pool.submit(drive, target.stack.port, load, PRODUCERS, seconds)
            events = _count(followed, done.done)
            done.result()
            took = time.perf_counter() - began - DRAIN_S
        return Measured(events // streams, took, cpu_s=meter.seconds)
    finally:
        for one in followed:
            one.close()


def _open(port: int, key: str) -> socket.socket:
    """Begin a stream and wait for its first frame."""
    stream = socket.create_connection(("127.0.0.1", port), timeout=BEGIN_S)
    stream.sendall(
        b"GET /ojs/v1/events/stream?types=job.enqueued HTTP/1.1\r\nHost: localhost\r\n"
        b"Authorization: Bearer %s\r\n\r\n" % key.encode()
    )
    received = b""
    while b"retry:" not in received:
        more = stream.recv(4096)
        if not more or not (received + more).startswith(b"HTTP/1.1 200"[: len(received + more)]):
            raise LoadError((received + more)[:SHOWN_BYTES].decode(errors="replace"))
        received += more
    stream.settimeout(0)  # never waits
    return stream


def _count(streams: list[socket.socket], is_over: Callable[[], bool]) -> int:
    events, ends_at = 0, float("inf")
    sockets = {stream.fileno(): stream for stream in streams}
    rest = dict.fromkeys(streams, b"")
    with selectors.DefaultSelector() as selector:
        for stream in sockets.values():
            selector.register(stream, selectors.EVENT_READ)
        while time.perf_counter() < ends_at:
            for key, _ in selector.select(0.1):
                stream = sockets[key.fd]
                received = rest[stream] + stream.recv(1 << 18)
                events += received.count(EVENT)
                rest[stream] = received[-(len(EVENT) - 1) :]
            if ends_at == float("inf") and is_over():
                ends_at = time.perf_counter() + DRAIN_S
    return events
