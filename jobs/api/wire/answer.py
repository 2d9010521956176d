"""Answers of views: JSON by orjson, or ready bytes of any type.

A plain HttpResponse instead of DRF's Response: a template response with renderer and negotiation
costs as much as the rest of DRF together, and an API with one body needs neither.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import ResponseHeaders

from jobs.api.wire.media import JSON_TYPE, OJS_TYPE, STREAM_TYPE
from jobs.conf import conf
from jobs.domain.wire import jsonio

PASSING: Final = frozenset({429, 503, 504})  # statuses of temporary problems
RETRY_AFTER: Final = "1"  # seconds, where a refusal has no time


class _Headers(ResponseHeaders):
    """Django's headers, without the conversions of plain text.

    The conversions took a tenth of the time that a request spends in Python.
    """

    def __init__(self, given: ResponseHeaders) -> None:
        """Take over the headers of a response."""
        self._store = given._store

    def __setitem__(self, key: str, value: str | bytes | int) -> None:
        if isinstance(value, str):
            line = key + value
            if line.isascii() and "\n" not in line and "\r" not in line:
                self._store[key.lower()] = key, value
                return
        super().__setitem__(key, value)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower() in self._store

    def items(self) -> Any:
        """Return pairs of name and value."""
        return self._store.values()


class Answer(HttpResponse):
    """`data` is serialized unless it is ready bytes; None is no body."""

    def __init__(
        self,
        data: object,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        media: str | None = None,
    ) -> None:
        """Keep the media type open until the request is known: see `choose_media_type`."""
        super().__init__(_body(data), status=status, content_type=media or OJS_TYPE)
        self.headers = _Headers(self.headers)
        self._has_choice = media is None
        if status in PASSING:
            self.headers["Retry-After"] = RETRY_AFTER
        for name, value in (headers or {}).items():
            self.headers[name] = value

    def choose_media_type(self, request: HttpRequest) -> None:
        """Choose between the two types of the body: OJS unless only JSON is accepted. Spec: D15.

        Never 406: every client gets one of the two types. The settings list the names of clients
        that ask for the OJS type but understand only the other.
        """
        if not self._has_choice:
            return
        accept, agents = request.META.get("HTTP_ACCEPT", ""), conf().json_user_agents
        if (JSON_TYPE in accept and OJS_TYPE not in accept) or (
            agents and ("*" in agents or request.META.get("HTTP_USER_AGENT", "").startswith(agents))
        ):
            self.headers["Content-Type"] = JSON_TYPE
        self.headers["Vary"] = "Accept, User-Agent" if agents else "Accept"


def _body(data: object) -> bytes:
    if data is None:
        return b""
    return data if isinstance(data, bytes) else jsonio.dumps(data)


class EventStream(StreamingHttpResponse):
    """Server-sent events, as bytes of whole frames; the server sends it outside its workers."""

    def __init__(self, frames: Iterator[bytes], close: Callable[[], None]) -> None:
        """Take the frames; `close` runs once, whether or not a frame was sent."""
        super().__init__(_Frames(frames, close), content_type=STREAM_TYPE)
        self.headers["Cache-Control"] = "no-cache"
        self.headers["X-Accel-Buffering"] = "no"  # proxies pass frames on as they come

    def choose_media_type(self, request: HttpRequest) -> None:
        """Keep the type: streams have only one."""


class _Frames:
    """An iterator that is closed with the answer: Django looks for `close`."""

    def __init__(self, frames: Iterator[bytes], close: Callable[[], None]) -> None:
        self._frames = frames
        self.close = close

    def __iter__(self) -> Iterator[bytes]:
        return self._frames
