"""The words for webhooks without a response. Spec: contract 26, WH-7."""

import errno
import socket
import ssl

import httpx
import pytest

from webhooks.services.failures import describe
from webhooks.services.post import post


def untrusted() -> ssl.SSLCertVerificationError:
    """Return the error for a certificate that signs itself."""
    found = ssl.SSLCertVerificationError(1, "certificate verify failed")
    found.verify_message = "self-signed certificate"
    return found


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), "host name not found"),
        (UnicodeError("label empty"), "host name not valid"),
        (ConnectionRefusedError(111, "Connection refused"), "connection refused"),
        (ConnectionResetError(104, "reset by peer"), "the server closed the connection"),
        (BrokenPipeError(32, "Broken pipe"), "the server closed the connection"),
        (untrusted(), "certificate not trusted: self-signed certificate"),
        (ssl.SSLError(1, "[SSL] record layer failure"), "no TLS connection"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "host not reachable"),
        (OSError(errno.ENETUNREACH, "unreachable"), "network not reachable"),
    ],
)
def test_a_failure_is_named_by_its_cause(cause: Exception, words: str) -> None:
    wrapped = httpx.ConnectError(str(cause))
    wrapped.__cause__ = cause

    assert (describe(cause), describe(wrapped)) == (words, words)


def test_an_unknown_failure_is_shown_as_it_is() -> None:
    assert describe(OSError("a\x00b" + "c" * 900)) == "OSError: ab" + "c" * 488


def test_a_host_without_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    assert post("https://nobody.invalid/", b"{}", {}, 5).error == "host name not found"
