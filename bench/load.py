"""A light HTTP client: a process drives many connections, to leave the CPU to the server.

Requests are prepared bytes over raw keep-alive sockets. The client reads only status, length and
job ids of an answer. Its remaining cost is measured and reported.
"""

import re
import selectors
import socket
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter, process_time

Cycle = Generator[bytes, bytes, int]  # sends requests, receives bodies, returns jobs done

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
LAST_CHUNK = b"\r\n0\r\n\r\n"
CHUNKED = 1 << 40  # no length given: the answer comes in chunks
BUFFER = bytearray(1 << 18)  # shared: a new buffer for each answer took longer than the read
SHOWN_BYTES = 500
FINISH_S = 10.0


class LoadError(Exception):
    """The server refused a request of a path."""


@dataclass(slots=True)
class Measured:
    """The result of one slice."""

    jobs: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)  # seconds per cycle
    client_cpu_s: float = 0.0  # of the busiest client process
    cpu_s: float = 0.0  # of all processes: client, server, database

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.jobs / self.seconds if self.seconds else 0.0

    @property
    def cpu_us(self) -> float:
        """CPU time of all processes per job."""
        return self.cpu_s / self.jobs * 1e6 if self.jobs else 0.0


@dataclass(frozen=True, slots=True)
class Client:
    """Processes that send requests."""

    pool: ProcessPoolExecutor
    processes: int

    def drive(
        self, port: int, cycle: Callable[[], Cycle], clients: int, seconds: float
    ) -> Measured:
        """Repeat `cycle` on `clients` connections, spread over the processes."""
        used = min(self.processes, clients)
        shares = [clients // used + (n < clients % used) for n in range(used)]
        waiting = [self.pool.submit(drive, port, cycle, share, seconds) for share in shares]
        return _together([each.result() for each in waiting])


def _together(parts: Sequence[Measured]) -> Measured:
    return Measured(
        sum(part.jobs for part in parts),
        max(part.seconds for part in parts),
        [late for part in parts for late in part.latencies],
        max(part.client_cpu_s for part in parts),
    )


def drive(
    port: int, cycle: Callable[[], Cycle], clients: int, seconds: float, *,
    warm_s: float = 0.0, look: Callable[[], object] = lambda: None,
) -> Measured:  # fmt: skip
    """Repeat `cycle` on every connection for `seconds`; raises LoadError at the first refusal.

    The first `warm_s` do not count. `look` is called before and after the time that counts, while
    all connections have requests under way.
    """
    measured = Measured()
    with selectors.DefaultSelector() as selector:
        connections = [_Connection(port, cycle, measured) for _ in range(clients)]
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        for connection in connections:
            connection.begin()
        _receive(selector, warm_s)
        measured.jobs, measured.latencies = 0, []
        look()
        cpu, began = process_time(), perf_counter()
        _receive(selector, seconds)
        measured.seconds = perf_counter() - began
        measured.client_cpu_s = process_time() - cpu
        look()
        for connection in connections:
            connection.finish()
    return measured


def _receive(selector: selectors.BaseSelector, seconds: float) -> None:
    until = perf_counter() + seconds
    while (now := perf_counter()) < until:
        for key, _ in selector.select(until - now):
            key.data.receive()


class _Connection:
    """One keep-alive connection and its current cycle."""

    def __init__(self, port: int, cycle: Callable[[], Cycle], measured: Measured) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._make = cycle
        self._measured = measured
        self._received = b""
        self._missing = -1  # missing bytes of the answer; below zero: its head is incomplete

    def begin(self) -> None:
        """Send the first request of a cycle."""
        self._began = perf_counter()
        self._cycle = self._make()
        self.socket.sendall(next(self._cycle))

    def receive(self) -> None:
        """Read arrived bytes, and continue the cycle when the answer is complete."""
        if not self._take():
            raise LoadError("the server closed the connection")
        body = self._answer()
        if body is not None:
            self._advance(body)

    def _take(self) -> int:
        size = self.socket.recv_into(BUFFER)
        self._received += memoryview(BUFFER)[:size]
        return size

    def _answer(self) -> bytes | None:
        head, blank, body = self._received.partition(b"\r\n\r\n")
        if not blank:
            return None
        if self._missing < 0:
            length = LENGTH.search(head)
            self._missing = int(length[1]) if length else CHUNKED
        if len(body) < self._missing and not (
            self._missing == CHUNKED and body.endswith(LAST_CHUNK)
        ):
            return None
        if not head.startswith(b"HTTP/1.1 2"):
            raise LoadError(self._received[:SHOWN_BYTES].decode(errors="replace"))
        self._received, self._missing = b"", -1
        return body

    def _advance(self, body: bytes) -> None:
        try:
            request = self._cycle.send(body)
        except StopIteration as done:
            self._measured.jobs += done.value
            self._measured.latencies.append(perf_counter() - self._began)
            self.begin()
        else:
            self.socket.sendall(request)

    def finish(self) -> None:
        """Wait for the pending answer, so that its transaction does not disturb the next slice."""
        self.socket.settimeout(FINISH_S)
        while self._answer() is None:
            if not self._take():
                break
        self.socket.close()
