"""Connections whose calls have one deadline, at any speed of a region. Spec: contract 23.7.

The timeouts of httpx bound each wait for a packet, so a region that sends byte by byte could hold a
call for any time. Calls of threads bound each read and write by their remaining time; calls of
asyncio are cancelled.
"""

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any

import httpcore
import httpx

# the deadline of this thread's call, by the monotonic clock
_end: ContextVar[float | None] = ContextVar("ojs_federation_call_end", default=None)


class Progress:
    """The progress of a call: before the first sent byte, the region cannot have stored a job.

    httpcore calls it at each step (its extension `trace`).
    """

    def __init__(self) -> None:
        """Begin without a connection."""
        self.has_connection = False
        self.is_sent = False  # completely or in part

    def __call__(self, event: str, _facts: Any) -> None:
        """Record a step."""
        self.has_connection = True
        if event.endswith(".send_request_headers.started"):
            self.is_sent = True

    async def later(self, event: str, facts: Any) -> None:
        """Record a step of asyncio."""
        self(event, facts)


@contextmanager
def ends_in(seconds: float) -> Iterator[None]:
    """Bound the calls of this thread within the block to `seconds` from now."""
    token = _end.set(monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(token)


def _left(timeout: float | None, problem: type[Exception]) -> float | None:
    """Return the longest permitted wait; raises `problem` when no time is left."""
    end = _end.get()
    if end is None:
        return timeout
    left = end - monotonic()
    if left <= 0:
        raise problem("the call took too long")
    return left if timeout is None else min(left, timeout)


class BoundedTransport(httpx.HTTPTransport):
    """HTTPTransport over connections that keep to `ends_in`."""

    def __init__(self, *, verify: Any, limits: httpx.Limits) -> None:
        """Prepare a pool; nothing is connected."""
        super().__init__(verify=verify, limits=limits, trust_env=False)
        ready = self._pool
        # httpx has no parameter for it; tests/federation/test_transport.py checks that it is used
        self._pool = httpcore.ConnectionPool(
            ssl_context=ready._ssl_context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Backend(),
        )
        ready.close()


class _Backend(httpcore.SyncBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(super().connect_tcp(host, port, left, local_address, socket_options))


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write the whole buffer within the deadline, also to a peer that reads byte by byte."""
        connection: socket.socket = self._inner.get_extra_info("socket")
        rest = memoryview(buffer)
        while rest:
            connection.settimeout(_left(timeout, httpcore.WriteTimeout))
            try:
                rest = rest[connection.send(rest) :]
            except TimeoutError as problem:
                raise httpcore.WriteTimeout(str(problem)) from problem
            except OSError as problem:
                raise httpcore.WriteError(str(problem)) from problem

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left))

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
