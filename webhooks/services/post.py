"""Post to a subscriber's server, and guard against other addresses. Spec: contract 26, WH-7, WH-9.

The connection goes to an address that `jobs/services/outbound/resolve.py` has accepted. Redirects
follow the same rules.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Mapping
from functools import cache
from time import monotonic
from typing import Any
from urllib.parse import urljoin

import httpx

from jobs.domain.outbound.address import Address, Target, is_private, read_target
from jobs.services.outbound.resolve import Refused, resolve
from webhooks.conf import conf
from webhooks.domain.verdict import Answer
from webhooks.services.failures import describe

SHOWN_BYTES = 1024
REDIRECTS = {301, 302, 307, 308}  # repeat the request with the same body


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> Answer:
    """Post a body; return an Answer for each failure, too."""
    began = monotonic()
    try:
        return _follow(url, body, headers, began, began + timeout_s)
    except Refused as problem:
        return Answer(None, _ms(began), error=str(problem), is_final=True)
    except httpx.TimeoutException:
        return Answer(None, _ms(began), error="timeout")
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as problem:
        reason = "timeout" if monotonic() - began >= timeout_s else describe(problem)
        return Answer(None, _ms(began), error=reason)


def _follow(
    url: str, body: bytes, headers: Mapping[str, str], began: float, until: float
) -> Answer:
    was_safe = False
    for _ in range(conf().redirects + 1):
        target = _target(url)
        if was_safe and target.scheme != "https":
            raise Refused("a redirect from https to http is not followed")
        was_safe = target.scheme == "https"
        answer, location = _request(url, target, body, headers, began, until)
        if answer.status not in REDIRECTS or location is None or not conf().redirects:
            return answer
        url = urljoin(url, location)
    return Answer(None, _ms(began), error="too many redirects", is_final=True)


def _target(url: str) -> Target:
    try:
        return read_target(url, allow_http=conf().allow_http)
    except ValueError as problem:
        raise Refused(f"the URL {problem}") from None


def _is_refused(address: Address) -> bool:
    return is_private(address) and not conf().allow_private


def _request(
    url: str, target: Target, body: bytes, headers: Mapping[str, str], began: float, until: float
) -> tuple[Answer, str | None]:
    address = resolve(target.host, target.port, _is_refused)
    left = max(0.001, until - monotonic())
    deadline = _Deadline(left)
    pinned = httpx.URL(url).copy_with(host=address)
    extensions: dict[str, Any] = {"trace": deadline.watch}
    if target.scheme == "https":
        extensions["sni_hostname"] = target.host  # the certificate must match the name
    with (
        deadline,
        httpx.Client(verify=_trust(), timeout=left, trust_env=False) as client,
        client.stream(
            "POST", pinned, content=body, extensions=extensions,
            headers={**headers, "Host": _host(url), "Accept-Encoding": "identity"},
        ) as response,
    ):  # fmt: skip
        shown = _beginning(response)
    answer = Answer(
        response.status_code, _ms(began), body=shown,
        retry_after_s=_seconds(response.headers.get("Retry-After")),
        error=None if response.is_success else f"HTTP {response.status_code}",
    )  # fmt: skip
    return answer, response.headers.get("Location")


@cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()  # expensive to create


def _host(url: str) -> str:
    return httpx.URL(url).netloc.decode()


def _beginning(response: httpx.Response) -> str:
    """Read the first KiB without waiting for the rest."""
    taken = b""
    for chunk in response.iter_raw(SHOWN_BYTES):
        taken += chunk
        if len(taken) >= SHOWN_BYTES:
            break
    return taken[:SHOWN_BYTES].decode(errors="replace").replace("\x00", "�")


def _seconds(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else None  # noqa: PLR2004


def _ms(began: float) -> int:
    return int((monotonic() - began) * 1000)


class _Deadline:
    """Ends a connection when the time for the whole exchange is over.

    httpx limits each read only. A server that sends a byte now and then would hold a thread for
    ever.
    """

    def __init__(self, seconds: float) -> None:
        self._stream: Any = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def watch(self, event: str, facts: Mapping[str, Any]) -> None:
        """Remember the stream of the connection, as the trace extension of httpcore reports it."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._stream = facts["return_value"]

    def _end(self) -> None:
        connection = self._stream and self._stream.get_extra_info("socket")
        if connection is not None:
            with contextlib.suppress(OSError):  # the connection was closed before
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_problem: object) -> None:
        self._timer.cancel()
