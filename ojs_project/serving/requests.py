"""Turns the bytes of one connection into WSGI requests; llhttp parses them."""

import threading
from collections import deque
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from httptools import (
    HttpParserError,
    HttpParserInvalidMethodError,
    HttpParserInvalidURLError,
    HttpParserUpgrade,
    HttpRequestParser,
    parse_url,
)

from jobs.domain.errors import (
    BackendUnavailable,
    InvalidRequest,
    MethodNotAllowed,
    OJSError,
    PayloadTooLarge,
)

MAX_HEAD_BYTES: Final = 65_536
MAX_URL_BYTES: Final = 16_384
MAX_HEADERS: Final = 100
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

Environ = dict[str, Any]


@dataclass(slots=True)
class Request:
    """A request that has arrived whole."""

    environ: Environ
    keeps_alive: bool  # the client may send another request on the connection
    size: int  # of the body; the process holds these bytes until the request is answered


# Headers that a client or proxy may send on several lines. The lines are joined in their order.
LISTS: Final = frozenset({
    "HTTP_ACCEPT", "HTTP_ACCEPT_CHARSET", "HTTP_ACCEPT_ENCODING", "HTTP_ACCEPT_LANGUAGE",
    "HTTP_BAGGAGE", "HTTP_CACHE_CONTROL", "HTTP_CDN_LOOP", "HTTP_CONNECTION", "HTTP_FORWARDED",
    "HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_KEEP_ALIVE", "HTTP_PRAGMA", "HTTP_PREFER",
    "HTTP_TE", "HTTP_TRACESTATE", "HTTP_TRAILER", "HTTP_UPGRADE", "HTTP_VARY", "HTTP_VIA",
    "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT",
})  # fmt: skip
_COMMON: Final = (
    "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Connection",
    "Content-Length", "Content-Type", "Cookie", "Host", "OJS-Version", "Origin", "Referer",
    "Traceparent", "Transfer-Encoding", "User-Agent", "X-API-Key", "X-Forwarded-For",
    "X-Forwarded-Proto", "X-OJS-Tenant", "X-Request-Id",
)  # fmt: skip


def key_of(name: bytes) -> str:
    """Return the key of a header in a WSGI environ. Raises InvalidRequest for an underscore.

    The key has an underscore for each hyphen. `X_Client_Subject` would get the key of
    `X-Client-Subject`. A proxy sets or removes the second name, and passes the first name on.
    """
    if b"_" in name:
        shown = name.decode("latin-1")
        raise InvalidRequest.field(shown, "must not have an underscore: use a hyphen")
    text = name.decode("latin-1").upper().replace("-", "_")
    return text if text in {"CONTENT_LENGTH", "CONTENT_TYPE"} else f"HTTP_{text}"


_KEYS: Final = {
    spelled: key_of(spelled)
    for name in _COMMON
    for spelled in (name.encode(), name.lower().encode(), name.title().encode())
}


class Held:
    """Bytes that a process holds for its clients, up to a bound."""

    __slots__ = ("_bound", "_bytes", "_lock")

    def __init__(self, bound: int) -> None:
        """Begin with no bytes held."""
        self._lock = threading.Lock()
        self._bound, self._bytes = bound, 0

    def add(self, size: int) -> bool:
        """Count bytes; False if this exceeds the bound. The caller takes them back either way."""
        with self._lock:
            self._bytes += size
            return self._bytes <= self._bound

    def take_back(self, size: int) -> None:
        """Remove bytes from the count."""
        if size:
            with self._lock:
                self._bytes -= size


class Reader:
    """The requests of one connection, in order; the callbacks have the names of httptools."""

    __slots__ = (
        "_base", "_body", "_environ", "_head_bytes", "_headers", "_held", "_is_body",
        "_max_body_bytes", "_parser", "_problem", "_size", "_url", "complete", "is_begun",
        "is_closing", "wants_continue",
    )  # fmt: skip

    def __init__(self, base: Environ, max_body_bytes: int, held: Held) -> None:
        """Take the WSGI variables that all requests of the connection share."""
        self._base = base
        self._max_body_bytes = max_body_bytes
        self._held = held
        self._parser: Any = HttpRequestParser(self)
        self._problem: OJSError | None = None
        self._environ: Environ = {}
        self._url = b""
        self._headers = self._head_bytes = self._size = 0
        self._body: list[bytes] = []
        self._is_body = False
        self.is_begun = False  # a request has begun and is not complete
        self.is_closing = False  # no request of the client after the last one is read
        self.wants_continue = False  # the client waits for `100 Continue` before it sends the body
        self.complete: deque[Request] = deque()

    @property
    def is_in_body(self) -> bool:
        """The headers of the current request are complete."""
        return self._is_body

    def feed(self, data: bytes) -> None:
        """Parse bytes that arrived; requests that they complete are added to `complete`.

        Raises OJSError for a request that the application cannot answer. The reader is unusable
        after it.
        """
        if not self.is_begun:
            self._head_bytes = len(data)
        elif not self._is_body:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self.is_closing = True  # the request itself is answered as any other
        except HttpParserInvalidMethodError:
            raise MethodNotAllowed.of("this method", METHODS) from None
        except HttpParserInvalidURLError:
            raise InvalidRequest("the request target is no URL") from None
        except HttpParserError as error:
            raise self._problem or InvalidRequest(f"no HTTP/1.1 request: {error}") from None
        if self.is_begun and not self._is_body and self._head_bytes > MAX_HEAD_BYTES:
            raise InvalidRequest(f"the headers have more than {MAX_HEAD_BYTES} bytes")

    def discard(self) -> None:
        """Discard requests that no thread will answer."""
        self._held.take_back(self._size + sum(request.size for request in self.complete))
        self.complete.clear()
        self._size = 0
        self._body = []

    # --- callbacks --------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin an environ."""
        self._environ = self._base.copy()
        self._url = b""
        self._headers = self._size = 0
        self._body = []
        self._is_body = False
        self.is_begun = True

    def on_url(self, part: bytes) -> None:
        """Take a part of the request target."""
        self._url += part
        if len(self._url) > MAX_URL_BYTES:
            self._refuse(InvalidRequest(f"the request target has more than {MAX_URL_BYTES} bytes"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers of a chunked body are ignored."""
        if self._is_body:
            return
        self._headers += 1
        if self._headers > MAX_HEADERS:
            self._refuse(InvalidRequest(f"the request has more than {MAX_HEADERS} headers"))
        try:
            key = _KEYS.get(name) or key_of(name)
        except InvalidRequest as problem:
            self._refuse(problem)
        environ, text = self._environ, value.decode("latin-1")
        if key not in environ:
            environ[key] = text
        elif key in LISTS:
            environ[key] += f",{text}"
        elif key == "HTTP_COOKIE":
            environ[key] += f"; {text}"
        else:
            self._refuse(InvalidRequest.field(name.decode("latin-1"), "must come once"))

    def on_headers_complete(self) -> None:
        """Complete the environ except for the body."""
        environ, parser = self._environ, self._parser
        version = parser.get_http_version()
        environ["SERVER_PROTOCOL"] = f"HTTP/{version}"
        environ["REQUEST_METHOD"] = parser.get_method().decode("ascii")
        self._locate()
        if "HTTP_HOST" not in environ:
            if version == "1.1":
                self._refuse(InvalidRequest.field("Host", "is required"))
            environ["SERVER_NAME"] = ""  # the request names no host: only probes are answered
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > self._max_body_bytes:
            self._refuse(PayloadTooLarge.of("request body", self._max_body_bytes, length))
        if environ.get("HTTP_EXPECT", "").lower() == "100-continue":
            self.wants_continue = length > 0 or "HTTP_TRANSFER_ENCODING" in environ
        self._is_body = True

    def on_body(self, part: bytes) -> None:
        """Take a part of the body."""
        size = len(part)
        self._size += size
        is_held = self._held.add(size)
        if self._size > self._max_body_bytes:
            limit = self._max_body_bytes
            self._refuse(PayloadTooLarge.of("request body", limit, self._size))
        if not is_held:
            self._refuse(
                BackendUnavailable("too many bodies at once", headers={"Retry-After": "5"})
            )
        self._body.append(part)

    def on_message_complete(self) -> None:
        """Add the request to the complete requests."""
        environ, body = self._environ, self._body
        environ["wsgi.input"] = BytesIO(body[0] if len(body) == 1 else b"".join(body))
        if environ.pop("HTTP_TRANSFER_ENCODING", None):
            environ["CONTENT_LENGTH"] = str(self._size)
        self.complete.append(Request(environ, self._parser.should_keep_alive(), self._size))
        self._size = self._head_bytes = 0
        self._body = []
        self.is_begun = self._is_body = self.wants_continue = False

    def _locate(self) -> None:
        """Split the request target; the authority of an absolute target replaces the Host."""
        environ, url = self._environ, self._url
        if url[:1] != b"/" and url != b"*":
            try:
                parsed = parse_url(url)
            except HttpParserInvalidURLError:
                return self._refuse(InvalidRequest("the request target is no URL"))
            if parsed.host is None or parsed.schema not in {b"http", b"https"}:
                return self._refuse(InvalidRequest("the request target is no URL of this server"))
            port = b"" if parsed.port is None else b":%d" % parsed.port
            environ["HTTP_HOST"] = (parsed.host + port).decode("latin-1")
            url = (parsed.path or b"/") + (b"?" + parsed.query if parsed.query else b"")
        path, _, query = url.partition(b"?")
        environ["PATH_INFO"] = (unquote_to_bytes(path) if b"%" in path else path).decode("latin-1")
        environ["QUERY_STRING"] = query.decode("latin-1")
        return None

    def _refuse(self, problem: OJSError) -> None:
        """End the parsing with a problem; httptools hides exceptions of callbacks."""
        self._problem = problem
        raise problem
