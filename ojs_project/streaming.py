"""Lets granian's WSGI workers send event streams without occupying a request thread.

A WSGI server iterates a body in the thread that answered the request; a stream would keep that
thread for hours. granian's protocol object may be used from any thread, so the body of an
EventStream is iterated in a thread of its own, and the request thread is free again. How many there
are is limited by `OJS_STREAM_LIMIT`. The alternatives and what they cost: docs/adr/0006-streams.md.

This hooks into granian where it wraps an application and where it handles signals. The environ
key `ojs.streams` tells views that it worked; elsewhere streams answer 503.
"""

import logging
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from jobs.api.answer import EventStream
from jobs.api.media import SERVED
from jobs.api.streams import feed

logger = logging.getLogger("ojs.stream")

SERVER = "granian.server.mp"  # imported only in a process that granian started


class _Protocol:
    """granian's protocol of one request; streams are sent by threads of their own."""

    __slots__ = ("_inner", "response_bytes")

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.response_bytes = inner.response_bytes

    def response_iter(self, status: int, headers: list[tuple[str, str]], body: Any) -> None:
        send = self._inner.response_iter
        if isinstance(body.inner, EventStream):
            arguments = (send, status, headers, body)
            threading.Thread(target=_send, args=arguments, daemon=True, name="ojs-stream").start()
        else:
            send(status, headers, body)


def _send(send: Callable[..., None], status: int, headers: Any, body: Any) -> None:
    try:
        send(status, headers, body)
    except Exception:
        logger.exception("stream.broken")
    finally:
        body.close()


def install() -> None:
    """Take effect in this process, if granian runs it and is one that can."""
    server: Any = sys.modules.get(SERVER)
    if server is None:
        return
    from granian import _signals  # noqa: PLC0415 - only where granian is the server

    if not (hasattr(server, "_wsgi_call_wrap") and hasattr(_signals, "set_sync_signals")):
        logger.warning("stream.unknown_server")
        return
    wrap: Any = server._wsgi_call_wrap
    set_signals: Any = _signals.set_sync_signals

    def wrapping(callback: Any, *facts: Any) -> Callable[[Any, Any], Any]:
        answer = wrap(callback, *facts)

        def streaming(protocol: Any, scope: Any) -> Any:
            scope[SERVED] = True
            return answer(_Protocol(protocol), scope)

        return streaming

    def following() -> Any:
        told = set_signals()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _ending_streams(signal.getsignal(number)))
        return told

    server._wsgi_call_wrap = wrapping
    _signals.set_sync_signals = following


def _ending_streams(handler: Any) -> Callable[[int, Any], None]:
    def handle(number: int, frame: Any) -> None:
        # a thread, because a signal handler must not wait for the feed's lock
        threading.Thread(target=feed.close, args=("shutdown",), daemon=True).start()
        handler(number, frame)

    return handle
