"""Make the calls of scripts with httpx, in any thread or on any event loop.

Redirects are not followed, and neither proxies nor passwords of the environment are used. An answer
has a bound of time and of size. No error carries the frames of a request, which hold the key.
"""

import asyncio
import os
import ssl
import threading
from collections.abc import AsyncGenerator
from contextlib import closing
from functools import partial
from time import monotonic, sleep
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from ojs_tasks import tracing
from ojs_tasks.exceptions import NoServer
from ojs_tasks.remote.exchange import (
    Call,
    Follow,
    Pause,
    Reply,
    Script,
    Step,
    Unanswered,
    retry_after_s,
)
from ojs_tasks.remote.settings import RemoteSettings
from ojs_tasks.remote.stream import Ending
from ojs_tasks.remote.wire import loads

try:
    import httpx
except ImportError:
    raise NoServer("remote mode needs httpx: pip install ojs-django") from None

T = TypeVar("T")

CONNECT_S: Final = 5.0
MAX_CONNECTIONS: Final = 50  # of a process
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
SILENCE_S: Final = 30.0  # of a stream: the server sends a comment more often
MEDIA_TYPE: Final = "application/openjobspec+json"
STREAM_TYPE: Final = "text/event-stream"
HEADERS: Final = {
    "Accept": MEDIA_TYPE,
    "Accept-Encoding": "identity",  # a small answer must not grow
    "Content-Type": MEDIA_TYPE,
    "OJS-Version": "1.0",
    "User-Agent": "ojs-tasks",
}
NOT_SENT: Final = (
    httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.InvalidURL,
)  # fmt: skip
PROBLEMS: Final = (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError)

_clients: "WeakSet[Client]" = WeakSet()


def _forget_connections() -> None:
    for client in list(_clients):
        client.forget()


os.register_at_fork(after_in_child=_forget_connections)  # they belong to the parent


class Client:
    """The connections of one process to one server."""

    def __init__(self, settings: RemoteSettings) -> None:
        """Prepare; the first call connects. Raises NoServer if the certificates are unreadable."""
        self._settings = settings
        try:
            self._verify = ssl.create_default_context(cafile=settings.ca) if settings.ca else True
        except OSError as problem:
            raise NoServer(f"OJS['CA'] is unreadable: {problem}") from None
        self.forget()
        _clients.add(self)

    def forget(self) -> None:
        """Begin without connections; those of before are left to their owner."""
        self._lock = threading.Lock()
        self._sync: httpx.Client | None = None
        # per event loop; the generator closes the client when the loop ends
        self._loops: WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None]]
        ] = WeakKeyDictionary()

    def close(self) -> None:
        """End the connections of threads."""
        with self._lock:
            if self._sync is not None:
                self._sync.close()
            self._sync = None

    # --- scripts

    def run(self, script: Script[T]) -> T:
        """Run a script in this thread to its end."""
        resume: Any = partial(next, script)
        with closing(script):  # an interrupted wait gives back what it holds
            while True:
                try:
                    step: Step = resume()
                except StopIteration as end:
                    result: T = end.value
                    return result
                try:
                    answer = self._do(step)
                except Unanswered as problem:
                    resume = partial(script.throw, problem)
                else:
                    resume = partial(script.send, answer)

    async def arun(self, script: Script[T]) -> T:
        """Run a script on this event loop to its end."""
        resume: Any = partial(next, script)
        with closing(script):
            while True:
                try:
                    step: Step = resume()
                except StopIteration as end:
                    result: T = end.value
                    return result
                try:
                    answer = await self._ado(step)
                except Unanswered as problem:
                    resume = partial(script.throw, problem)
                else:
                    resume = partial(script.send, answer)

    def _do(self, step: Step) -> Any:
        if isinstance(step, Pause):
            sleep(step.seconds)
            return None
        return self._follow(step) if isinstance(step, Follow) else self.send(step)

    async def _ado(self, step: Step) -> Any:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        return await (self._afollow(step) if isinstance(step, Follow) else self._asend(step))

    # --- calls

    def send(self, call: Call) -> Reply:
        """Make a call once. Raises Unanswered."""
        try:
            with self._connected().stream(**self._request(call)) as response:
                body, until = bytearray(), monotonic() + self._limit_s(call)
                for chunk in response.iter_raw():
                    body += chunk
                    _check(body, until)
                return _reply(response, body)
        except PROBLEMS as found:
            failed = self._unanswered(found)
        raise failed  # outside of the handler: it must not carry the frames of the request

    def _unanswered(self, problem: Exception) -> Unanswered:
        """Describe a failure without bytes of the other side, and without the request."""
        was_sent = not isinstance(problem, NOT_SENT)
        is_own = isinstance(problem, _TooLong) or not was_sent  # a text of this machine
        reason = (str(problem) if is_own else "") or type(problem).__name__
        where = f"the OJS server at {self._settings.address}"
        return Unanswered(f"{where} does not answer: {reason}", was_sent=was_sent)

    async def _asend(self, call: Call) -> Reply:
        client = await self._aconnected()
        try:
            async with client.stream(**self._request(call)) as response:
                body, until = bytearray(), monotonic() + self._limit_s(call)
                async for chunk in response.aiter_raw():
                    body += chunk
                    _check(body, until)
                return _reply(response, body)
        except PROBLEMS as found:
            failed = self._unanswered(found)
        raise failed

    def _limit_s(self, call: Call) -> float:
        return call.timeout_s or self._settings.timeout_s

    def _request(self, call: Call) -> dict[str, Any]:
        limit_s = self._limit_s(call)
        path = call.path if call.path.startswith("/") else f"/ojs/v1/{call.path}"
        return {
            "method": call.method,
            "url": f"{self._settings.address}{path}",
            "content": call.body,
            "headers": tracing.carrier(),
            "timeout": httpx.Timeout(limit_s, connect=min(CONNECT_S, limit_s)),
        }

    # --- streams

    def _follow(self, step: Follow) -> bool:
        """Follow a stream; returns whether the server offers it. A lost stream is offered."""
        until = monotonic() + step.seconds
        try:
            with self._connected().stream(**self._stream(step)) as response:
                if not _is_stream(response):
                    return not _is_missing(response)
                ending = Ending()
                for chunk in response.iter_raw():
                    if ending.is_in(chunk) or monotonic() >= until:
                        break
        except PROBLEMS:
            pass
        return True

    async def _afollow(self, step: Follow) -> bool:
        until = monotonic() + step.seconds
        client = await self._aconnected()
        try:
            async with client.stream(**self._stream(step)) as response:
                if not _is_stream(response):
                    return not _is_missing(response)
                ending = Ending()
                async for chunk in response.aiter_raw():
                    if ending.is_in(chunk) or monotonic() >= until:
                        break
        except PROBLEMS:
            pass
        return True

    def _stream(self, step: Follow) -> dict[str, Any]:
        limit_s = min(SILENCE_S, max(step.seconds, 0.1))
        timeout = httpx.Timeout(limit_s, connect=min(CONNECT_S, limit_s))
        return self._request(Call("GET", step.path)) | {
            "headers": {"Accept": STREAM_TYPE}, "timeout": timeout,
        }  # fmt: skip

    # --- connections

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._sync is None:
                self._sync = httpx.Client(**self._arguments())
            return self._sync

    async def _aconnected(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        with self._lock:
            found = self._loops.get(loop)
            if found is None:
                client = httpx.AsyncClient(**self._arguments())
                found = self._loops[loop] = client, _closing(client)
                is_new = True
            else:
                is_new = False
        if is_new:
            await anext(found[1])
        return found[0]

    def _arguments(self) -> dict[str, Any]:
        return {
            "headers": HEADERS,
            "auth": _Bearer(self._settings) if self._settings.key else None,
            "verify": self._verify,
            "limits": httpx.Limits(max_connections=MAX_CONNECTIONS),
            "follow_redirects": False,
            "trust_env": False,
        }


async def _closing(client: httpx.AsyncClient) -> AsyncGenerator[None]:
    """Close a client with its event loop: a loop that ends finishes its asynchronous generators."""
    try:
        yield
    finally:
        await client.aclose()


class _Bearer(httpx.Auth):
    """Adds the key to each request."""

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings

    def auth_flow(self, request: httpx.Request) -> Any:
        request.headers["Authorization"] = self._settings.key.header
        yield request


class _TooLong(httpx.HTTPError):
    """The answer exceeds its bound of time or of size."""


def _check(body: bytearray, until: float) -> None:
    if len(body) > MAX_ANSWER_BYTES:
        raise _TooLong(f"its answer has more than {MAX_ANSWER_BYTES} bytes")
    if monotonic() > until:
        raise _TooLong("its answer does not end in time")


def _reply(response: httpx.Response, body: bytearray) -> Reply:
    after_s = retry_after_s(response.headers.get("Retry-After"))
    return Reply(response.status_code, loads(bytes(body)), after_s)


def _is_stream(response: httpx.Response) -> bool:
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
    return bool(response.is_success and kind == STREAM_TYPE)


def _is_missing(response: httpx.Response) -> bool:
    """Return whether the server has no stream at all, rather than none at present."""
    return response.is_success or response.status_code in {404, 405, 406, 410, 501}
