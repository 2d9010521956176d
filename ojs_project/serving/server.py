"""Serves the connections of one process with a fixed number of threads.

All threads wait for the same epoll instance, also for the answers of the statements that requests
share. A thread that finds a connection readable reads and parses the bytes. If the request is
complete, the same thread answers it: no request moves from one thread to another. Otherwise the
connection waits again and no thread waits with it. A slow client thus costs memory, which is
bounded, and time, which has deadlines.

At most `threads` threads answer requests at once, each with a connection to the database. One more
may answer the probes that query the database. So at least one thread is left while all of these
wait: it reads, accepts, refuses, and answers `LIVE`. Decision: docs/adr/0024-slow-clients.md.
"""

import contextlib
import logging
import os
import select
import socket
import ssl
import threading
from collections.abc import Callable
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final

from jobs import baton
from jobs.api.transport import HEALTH
from jobs.api.wire.media import GONE, SEND
from jobs.domain.errors import (
    BackendError,
    BackendUnavailable,
    OJSError,
    RequestTimeout,
)
from jobs.fastpath.application import LATER
from jobs.gather import prepare_wait, watch_by
from ojs_project.serving.connections import Connection, base_environ
from ojs_project.serving.events import Events
from ojs_project.serving.limits import Limits
from ojs_project.serving.listeners import Listeners
from ojs_project.serving.register import BUSY, READABLE, RETRY, WRITABLE, Register
from ojs_project.serving.request_queue import RequestQueue
from ojs_project.serving.requests import Environ, Held, Reader, Request
from ojs_project.serving.responses import Headers, Started, refusal, whole
from ojs_project.serving.streams import Stream
from ojs_project.serving.trips import Trips

logger = logging.getLogger("ojs.http")

Application = Callable[[Environ, Callable[..., Any]], Any]

LIVE: Final = frozenset({"/livez", "/healthz"})  # these use nothing that can make a thread wait
PROBES: Final = HEALTH - LIVE
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
LINGER_MS: Final = 5_000
END_S: Final = 0.5  # time for a thread to end


class Server:
    """The connections of one process."""

    def __init__(
        self,
        application: Application,
        listeners: list[socket.socket],
        *,
        threads: int,
        limits: Limits,
        is_trusted: Callable[[str], bool],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Take listening sockets; nothing is accepted before `start`."""
        self._application = application
        self._is_hot: Callable[[Environ], bool] = getattr(application, "is_hot", lambda _: False)
        self._limits = limits
        self._requests, self._probes = RequestQueue(threads), RequestQueue(1)
        self._bodies, self._responses = Held(limits.body_bytes), Held(limits.response_bytes)
        self._epoll = select.epoll()
        self._register = Register(limits, self._epoll, is_trusted)
        self._listeners = Listeners(
            listeners, self._epoll, tls, begin=self._welcome, evict=self._register.evict
        )
        self._trips = Trips(self._epoll, threads)
        self._woken = os.eventfd(0, os.EFD_NONBLOCK)
        self._is_over = self._is_draining = False
        self._events = Events(self._epoll)
        self._pool = [
            threading.Thread(target=self._work, name=f"ojs-http-{n}", daemon=True)
            for n in range(threads + 2)
        ]

    def start(self) -> None:
        """Start the threads."""
        self._epoll.register(self._woken, select.EPOLLIN)
        self._listeners.start()
        watch_by(self._trips)
        for thread in self._pool:
            thread.start()

    def drain(self) -> None:
        """Accept no more connections, and close the connections that wait for a request."""
        self._is_draining = True
        self._listeners.close()
        for connection in self._register.take_all(inf):
            reader = connection.reader
            if connection.unsent or reader.is_begun or reader.complete:
                self._register.arm_again(connection)
            else:
                self._register.close(connection)

    @property
    def is_idle(self) -> bool:
        """No connection is open."""
        return not self._register.connections

    def stop(self) -> None:
        """End the threads and close all connections; a thread that still answers may go on."""
        self._is_over = True
        os.eventfd_write(self._woken, 1)
        for thread in self._pool:
            thread.join(END_S)
        watch_by(None)
        self._trips.finish()
        for connection in list(self._register.connections.values()):
            self._register.close(connection)
        if not any(thread.is_alive() for thread in self._pool):
            self._epoll.close()
            os.close(self._woken)

    def look(self) -> None:
        """End late connections and requests; the worker calls it periodically."""
        now = monotonic()
        for connection in self._register.take_all(now):
            self._end_late(connection)
        self._listeners.resume()
        for queue in (self._requests, self._probes):
            for connection in queue.withdraw(now):
                self._refuse(connection, BackendUnavailable(BUSY, headers=RETRY))

    # --- threads ----------------------------------------------------------------------------------

    def _work(self) -> None:
        take, listeners, trips = self._register.take, self._listeners, self._trips
        while not self._is_over:
            for number in self._events.next():
                connection = take(number)
                try:
                    if connection is not None:
                        self._go_on(connection)
                    elif number in trips:
                        trips.go_on(number)
                    elif number in listeners:
                        listeners.accept(number)
                except Exception:
                    logger.exception("http.broken")
                    if connection is not None:
                        self._register.close(connection)
        baton.pass_on()

    def _welcome(self, sock: socket.socket, client: str) -> None:
        """Wait for the first request of a new connection, or refuse it."""
        reader = Reader(base_environ(sock, client), self._limits.max_body_bytes, self._bodies)
        connection = Connection(sock, client, reader, self._responses)
        self._epoll.register(sock.fileno(), select.EPOLLONESHOT)
        problem = self._register.add(connection)
        if problem is None:
            self._await(connection, self._limits.idle_timeout_ms)
        else:
            self._refuse(connection, problem)

    # --- one connection ---------------------------------------------------------------------------

    def _go_on(self, connection: Connection) -> None:
        """Continue after an event: the client has sent bytes, or can take more."""
        if connection.unsent:
            if not connection.send_rest():
                self._register.close(connection)
            elif self._is_ready(connection):
                self._enter(connection)
            return
        if connection.reader.complete:
            self._enter(connection)
            return
        data = connection.read()
        if data is None or (data and connection.is_lingering):
            self._register.arm(connection, READABLE)
        elif not data:
            self._register.close(connection)
        else:
            self._feed(connection, data)

    def _feed(self, connection: Connection, data: bytes) -> None:
        reader = connection.reader
        was_begun, was_in_body = reader.is_begun, reader.is_in_body
        try:
            reader.feed(data)
        except OJSError as problem:
            self._refuse(connection, problem)
            return
        if reader.complete:
            self._enter(connection)
        elif reader.is_begun:
            self._await_rest(connection, was_begun=was_begun, was_in_body=was_in_body)
        else:  # empty lines before a request do not change the deadline
            self._register.arm(connection, READABLE)

    def _await_rest(self, connection: Connection, *, was_begun: bool, was_in_body: bool) -> None:
        """Wait for the rest of a request; each part of it has one deadline."""
        reader = connection.reader
        if not reader.is_in_body:
            self._await(connection, None if was_begun else self._limits.header_timeout_ms)
            return
        if reader.wants_continue:
            reader.wants_continue = False
            connection.send(CONTINUE)
        self._await(connection, None if was_in_body else self._limits.body_timeout_ms)

    def _enter(self, connection: Connection) -> None:
        """Answer the complete requests of a connection, and of others that wait for a thread."""
        entering = [connection]
        while entering:
            first = entering.pop()
            queue = self._queue_of(first)
            if queue is None:
                entering += [first] if self._answer(first) else []
            elif len(queue.waiting) >= self._limits.queue:
                self._refuse(first, BackendUnavailable(BUSY, headers=RETRY))
            else:
                first.due = monotonic() + self._limits.queue_timeout_ms / 1000
                entering += self._work_off(queue, first) if queue.enter(first) else []

    def _work_off(self, queue: RequestQueue, connection: Connection) -> list[Connection]:
        """Answer a request, then the waiting requests of the queue.

        Returns connections whose next request is complete and belongs to another queue.
        """
        others: list[Connection] = []
        following: Connection | None = connection
        while following is not None:
            if self._is_answered(following):
                if self._queue_of(following) is queue:
                    following.due = monotonic() + self._limits.queue_timeout_ms / 1000
                    queue.waiting.append(following)
                else:
                    others.append(following)
            following = queue.leave()
        return others

    def _is_answered(self, connection: Connection) -> bool:
        """Answer with `_answer`; a fault closes the connection, and the thread continues."""
        try:
            return self._answer(connection)
        except Exception:
            logger.exception("http.broken")
            self._register.close(connection)
            return False

    def _queue_of(self, connection: Connection) -> RequestQueue | None:
        """Return the queue of a connection's next request; None: it is answered without a queue."""
        path = connection.reader.complete[0].environ["PATH_INFO"]
        if path in LIVE:
            return None
        return self._probes if path in PROBES else self._requests

    def _answer(self, connection: Connection) -> bool:
        """Answer one request; True if the next request of the connection is complete."""
        request = connection.reader.complete.popleft()
        started = Started()
        request.environ[GONE] = connection.is_gone
        request.environ[SEND] = partial(self._answer_later, connection, request)
        if not self._is_hot(request.environ):
            prepare_wait()
        try:
            try:
                body = self._application(request.environ, started)
            finally:
                self._bodies.take_back(request.size)
            if body is LATER:
                return False
            if not isinstance(body, list):
                self._stream(connection, request, started, body)
                return False
            response = self._response(connection, request, started, b"".join(body))
        except Exception:
            logger.exception("http.failed")
            self._refuse(connection, BackendError("the server failed to answer"))
            return False
        return self._is_sent(connection, response)

    def _answer_later(
        self, connection: Connection, request: Request, status: str, headers: Headers, body: bytes
    ) -> None:
        """Send the answer of a request whose statement was shared, from any thread.

        If the next request of the connection is complete, the connection waits for a thread. This
        thread must first send the other answers of the statement.
        """
        try:
            started = Started()
            started(status, headers)
            response = self._response(connection, request, started, body)
            if self._is_sent(connection, response):
                connection.due = monotonic() + self._limits.queue_timeout_ms / 1000
                self._register.arm_again(connection)
        except Exception:
            logger.exception("http.broken")
            self._register.close(connection)

    def _response(
        self, connection: Connection, request: Request, started: Started, body: bytes
    ) -> bytes:
        connection.ends = (
            not request.keeps_alive or connection.reader.is_closing or self._is_draining
        )
        return whole(started, body, request.environ["REQUEST_METHOD"], ends=connection.ends)

    def _is_sent(self, connection: Connection, response: bytes) -> bool:
        """Send a response; True if the next request of the connection is complete."""
        if connection.send(response):
            return self._is_ready(connection)
        self._register.close(connection)
        return False

    def _is_ready(self, connection: Connection) -> bool:
        """Return whether the next request can be answered; else wait for the client, or close."""
        if connection.unsent:
            connection.due = monotonic() + self._limits.write_timeout_ms / 1000
            self._register.arm(connection, WRITABLE)
        elif connection.ends:
            self._register.close(connection)
        elif connection.reader.complete:
            return True
        elif connection.reader.is_begun:
            self._await_rest(connection, was_begun=False, was_in_body=False)
        else:
            self._await(connection, self._limits.idle_timeout_ms)
        return False

    def _await(self, connection: Connection, timeout_ms: int | None) -> None:
        """Wait for the client to send; without a timeout the deadline stays unchanged."""
        if timeout_ms is not None:
            connection.due = monotonic() + timeout_ms / 1000
        self._register.arm(connection, READABLE)

    def _end_late(self, connection: Connection) -> None:
        """End a connection whose deadline has passed; the caller owns it."""
        if connection.reader.complete:
            self._refuse(connection, BackendUnavailable(BUSY, headers=RETRY))
        elif connection.reader.is_begun and not (connection.unsent or connection.is_lingering):
            self._refuse(connection, RequestTimeout("the request did not arrive in time"))
        else:
            self._register.close(connection)

    def _refuse(self, connection: Connection, problem: OJSError) -> None:
        """Answer without the application, then close.

        If a socket closes with unread bytes, the client gets a reset in place of the response. The
        server therefore reads and discards them for a while.
        """
        connection.reader.discard()
        if connection.unsent or not connection.send(refusal(problem)):
            self._register.close(connection)
            return
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_WR)
        connection.is_lingering = True
        self._await(connection, LINGER_MS)

    def _stream(
        self, connection: Connection, request: Request, started: Started, body: Any
    ) -> None:
        """Send a body of unknown length in a separate thread, and then close."""
        self._epoll.unregister(connection.sock.fileno())
        self._register.release(connection)
        timeout_s = self._limits.write_timeout_ms / 1000
        stream = Stream(connection, request, started, body)
        sender = threading.Thread(
            target=stream.send, args=(timeout_s, self._register.close), daemon=True,
            name="ojs-stream",
        )  # fmt: skip
        try:
            sender.start()
        except RuntimeError:  # the system has no thread left
            body.close()
            raise
