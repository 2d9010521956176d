"""Turns the answer of an application into the bytes of an HTTP/1.1 response."""

from collections.abc import Sequence
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import Any

from jobs.api.problems import error_response
from jobs.api.wire.answer import Answer
from jobs.api.wire.headers import stamp
from jobs.domain.errors import OJSError
from jobs.domain.wire.ids import request_id

Headers = Sequence[tuple[str, str]]
WITHOUT_BODY = ("204", "304", "1")  # beginnings of statuses
FRAMING = {"connection", "content-length", "date", "transfer-encoding"}


class Started:
    """The `start_response` of a request: records the status and the headers."""

    __slots__ = ("headers", "status")

    def __init__(self) -> None:
        """Begin without a status."""
        self.status = ""
        self.headers: Headers = ()

    def __call__(self, status: str, headers: Headers, exc_info: Any = None) -> None:
        """Record status and headers."""
        self.status, self.headers = status, headers


@lru_cache(2)
def _date(_second: int) -> str:
    return formatdate(usegmt=True)


def head(started: Started, framing: str, *, ends: bool) -> bytes:
    """Return the bytes before the body; `framing` is the header that declares its length."""
    lines = [f"HTTP/1.1 {started.status}\r\n"]
    lines += [f"{k}: {v}\r\n" for k, v in started.headers if k.lower() not in FRAMING]
    lines.append(f"Date: {_date(int(time()))}\r\n{framing}")
    lines.append("Connection: close\r\n\r\n" if ends else "\r\n")
    return "".join(lines).encode("latin-1")


def whole(started: Started, body: bytes, method: str, *, ends: bool) -> bytes:
    """Return a response whose body is complete."""
    if started.status.startswith(WITHOUT_BODY):
        return head(started, "", ends=ends)
    start = head(started, f"Content-Length: {len(body)}\r\n", ends=ends)
    return start if method == "HEAD" else start + body


def refusal(problem: OJSError) -> bytes:
    """Return an OJS error response after which the connection closes."""
    identity = request_id()
    answer: Answer = error_response(problem, identity)
    stamp(answer, identity, {})
    started = Started()
    started(f"{answer.status_code} {answer.reason_phrase}", list(answer.items()))
    return whole(started, answer.content, "", ends=True)


def chunk(part: bytes) -> bytes:
    """Return a chunk of a body of unknown length; an empty chunk ends the body."""
    return b"%x\r\n%b\r\n" % (len(part), part)
