"""Describe in words why a webhook got no response."""

import errno
import socket
import ssl
from collections.abc import Iterator
from typing import Final

import httpx

LONGEST: Final = 500  # characters of an unknown error
DEEPEST: Final = 20  # causes of an error
KINDS: Final[dict[type[BaseException], str]] = {  # the first match counts
    socket.gaierror: "host name not found",
    UnicodeError: "host name not valid",
    ssl.SSLError: "no TLS connection",
    ConnectionRefusedError: "connection refused",
    ConnectionError: "the server closed the connection",
    httpx.RemoteProtocolError: "the server closed the connection or did not answer with HTTP",
    httpx.ReadError: "the server closed the connection",
    httpx.WriteError: "the server closed the connection",
}
UNREACHABLE: Final = {
    errno.EHOSTUNREACH: "host not reachable",
    errno.ENETUNREACH: "network not reachable",
}


def describe(problem: Exception) -> str:
    """Return the reason of a failed request as operators know it; an unknown error as it is."""
    causes = list(_causes(problem))
    for one in causes:
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"certificate not trusted: {one.verify_message}"
    for kind, words in KINDS.items():
        if any(isinstance(one, kind) for one in causes):
            return words
    for one in causes:
        if isinstance(one, OSError) and one.errno in UNREACHABLE:
            return UNREACHABLE[one.errno]
    return f"{type(problem).__name__}: {problem}"[:LONGEST].replace("\x00", "")


def _causes(problem: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = problem
    for _ in range(DEEPEST):
        if one is None:
            return
        yield one
        one = one.__cause__ or one.__context__
