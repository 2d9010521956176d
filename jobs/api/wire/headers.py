"""Headers that the server checks in a request or adds to each answer.

Spec: contract 3.1, 27, 31.4.
"""

import re
from collections.abc import Mapping

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from jobs.api.wire.media import JSON_TYPE, OJS_TYPE, OJS_VERSION
from jobs.domain.errors import InvalidRequest, Unsupported
from jobs.domain.wire.bounds import MAX_REQUEST_ID
from jobs.domain.wire.ids import request_id

MAX_BLOCK_S = 30
SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
READABLE = frozenset(map(chr, range(33, 127)))


def check_version(request: HttpRequest) -> None:
    """Refuse a request for another major version of the protocol. Raises Unsupported."""
    wanted = request.META.get("HTTP_OJS_VERSION")
    if wanted and wanted.partition(".")[0].strip() != "1":
        raise Unsupported(
            f"OJS-Version {wanted[:40]!r} is not supported: use major version 1",
            details={"field": "OJS-Version", "expected": OJS_VERSION, "received": wanted[:40]},
        )


def block_ms(request: HttpRequest) -> int:
    """Read how long to wait for room in a full queue, at most 30 s. Spec: contract 27, BP-6."""
    raw = request.META.get("HTTP_OJS_BLOCK_TIMEOUT")
    if raw is None:
        return 0
    if not SECONDS.fullmatch(raw):
        raise InvalidRequest.field("OJS-Block-Timeout", "must be a number of seconds", raw[:100])
    return round(min(float(raw), MAX_BLOCK_S) * 1000)


def client_address(request: HttpRequest) -> str:
    """Return the address of the client."""
    return str(request.META.get("REMOTE_ADDR", ""))


def content_length(request: HttpRequest) -> int:
    """Read the length of the body; 0 without a length. Raises InvalidRequest."""
    raw = request.META.get("CONTENT_LENGTH") or "0"
    if not (raw.isascii() and raw.isdigit()):
        raise InvalidRequest.field("Content-Length", "must be a whole number", raw[:100])
    return int(raw)


def check_content_type(raw: str, *, has_body: bool) -> None:
    """Refuse a body that is declared as anything but JSON. Raises InvalidRequest."""
    kind = raw.partition(";")[0].strip().lower()
    if kind not in {OJS_TYPE, JSON_TYPE} and (has_body or kind):
        raise InvalidRequest.field("Content-Type", f"must be {OJS_TYPE} or {JSON_TYPE}", raw[:100])


def chosen_request_id(request: HttpRequest) -> str:
    """Return the client's request id when it is printable and short, else a new one."""
    sent = request.META.get("HTTP_X_REQUEST_ID", "")
    return sent if 1 <= len(sent) <= MAX_REQUEST_ID and READABLE.issuperset(sent) else request_id()


def stamp(response: HttpResponseBase, identity: str, more: Mapping[str, str]) -> None:
    """Set the headers that every answer has. Spec: contract 3.1, 27.3, 31.4."""
    headers = response.headers
    headers["OJS-Version"] = OJS_VERSION
    headers["X-Request-Id"] = identity
    headers["X-Content-Type-Options"] = "nosniff"  # jobs contain foreign data
    if "Cache-Control" not in headers:
        headers["Cache-Control"] = "no-store"
    for name, value in more.items():
        headers[name] = value
