"""Turns what an application answers into the bytes of an HTTP/1.1 response."""

from collections.abc import Sequence
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import Any

from jobs.api.answer import Answer
from jobs.api.base import error_response, stamp
from jobs.domain.errors import OJSError
from jobs.domain.ids import request_id

Headers = Sequence[tuple[str, str]]
WITHOUT_BODY = ("204", "304", "1")  # statuses that begin so
FRAMING = {"connection", "content-length", "date", "transfer-encoding"}


class Started:
    """The `start_response` of a request: what the application says before the body."""

    __slots__ = ("headers", "status")

    def __init__(self) -> None:
        """Have no status yet."""
        self.status = ""
        self.headers: Headers = ()

    def __call__(self, status: str, headers: Headers, exc_info: Any = None) -> None:
        """Note status and headers."""
        self.status, self.headers = status, headers


@lru_cache(2)
def _date(_second: int) -> str:
    return formatdate(usegmt=True)


def head(started: Started, framing: str, *, ends: bool) -> bytes:
    """Return the bytes before the body; the framing is a header of ours about its length."""
    lines = [f"HTTP/1.1 {started.status}\r\n"]
    lines += [f"{k}: {v}\r\n" for k, v in started.headers if k.lower() not in FRAMING]
    lines.append(f"Date: {_date(int(time()))}\r\n{framing}")
    lines.append("Connection: close\r\n\r\n" if ends else "\r\n")
    return "".join(lines).encode("latin-1")


def whole(started: Started, body: bytes, method: str, *, ends: bool) -> bytes:
    """Return a response whose body is there."""
    if started.status.startswith(WITHOUT_BODY):
        return head(started, "", ends=ends)
    start = head(started, f"Content-Length: {len(body)}\r\n", ends=ends)
    return start if method == "HEAD" else start + body


def refusal(problem: OJSError) -> bytes:
    """Return a response in the shape of all errors, behind which the connection closes."""
    identity = request_id()
    answer: Answer = error_response(problem, identity)
    stamp(answer, identity, {})
    started = Started()
    started(f"{answer.status_code} {answer.reason_phrase}", list(answer.items()))
    return whole(started, answer.content, "", ends=True)


def chunk(part: bytes) -> bytes:
    """Return a part of a body whose length nobody knows yet; an empty one ends it."""
    return b"%x\r\n%b\r\n" % (len(part), part)
