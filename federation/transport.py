"""HTTP to the regions: authenticated, encrypted, never redirected. Spec: contract 23.7.

No Django here: the library, the hosted router and replication all send through it. Secrets are read
from their references at each use, so that they can be changed in place. A failure is a value of
`Reason`: the text of an exception may contain bytes of the other side.
"""

import asyncio
import errno
import os
import socket
import ssl
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any, Final, Self

import httpx
import orjson

from federation.domain.delivery import Fate
from federation.domain.errors import FederationConfigError, MissingSecret, UnreadableSecret
from federation.domain.exchange import Call, Failure, Reply
from federation.domain.reasons import Reason
from federation.domain.region import SECRET_RULE, Auth, AuthKind, Region, is_secret
from federation.wire import BoundedTransport, Progress, ends_in

DEFAULT_TIMEOUT_S: Final = 10.0
CONNECT_TIMEOUT_S: Final = 5.0
MAX_CONNECTIONS: Final = 50  # to one region
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
MAX_FILE_BYTES: Final = 1024 * 1024  # of a secret or a certificate
PORTS: Final = {"https": 443, "http": 80}
MEDIA_TYPE: Final = "application/openjobspec+json"
HEADERS: Final = {"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE, "OJS-Version": "1.0"}
PROBLEMS: Final = (
    httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, FederationConfigError, TimeoutError,
)  # fmt: skip


Resolve = Callable[[str, int], str]  # a host and a port to the address to connect to


class Transport:
    """Sends calls to regions, from any thread."""

    def __init__(
        self,
        regions: Iterable[Region],
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        debug: bool = False,
        resolve: Resolve | None = None,
    ) -> None:
        """Prepare a connection pool for each region. Raises FederationConfigError.

        `resolve` finds the address of a host and may refuse it by FederationConfigError. The
        connection uses this address, so that a second look-up cannot lead elsewhere.
        """
        self._resolve = resolve
        self._clients = {
            region.id: _client(_settings(region, timeout_s, debug=debug)) for region in regions
        }
        self._timeout_s = timeout_s

    def send(self, call: Call) -> Reply | Failure:
        """Make a call; a failure of any kind is returned, not raised.

        The whole call ends within its timeout, except the name resolution.
        """
        client = self._clients[call.region]
        began, progress = monotonic(), Progress()
        try:
            request = _request(call, progress)
            if self._resolve is not None:
                pinned = _pinned(client.base_url, call, self._resolve)
                request |= {**pinned, "extensions": request["extensions"] | pinned["extensions"]}
            limit_s = call.timeout_s or self._timeout_s
            with ends_in(limit_s), client.stream(**request) as response:
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    _check_size(body)
                return _reply(response, body, began)
        except PROBLEMS as problem:
            return _failure(problem, progress)

    def close(self) -> None:
        """End all connections."""
        for client in self._clients.values():
            client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.close()


class AsyncTransport:
    """Sends calls to regions, from asyncio tasks."""

    def __init__(
        self,
        regions: Iterable[Region],
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        debug: bool = False,
    ) -> None:
        """Prepare a connection pool for each region. Raises FederationConfigError."""
        self._clients = {
            region.id: httpx.AsyncClient(**_settings(region, timeout_s, debug=debug))
            for region in regions
        }
        self._timeout_s = timeout_s

    async def send(self, call: Call) -> Reply | Failure:
        """Make a call as `Transport.send`; a failure of any kind is returned, not raised."""
        client = self._clients[call.region]
        began, progress = monotonic(), Progress()
        request = _request(call, progress) | {"extensions": {"trace": progress.later}}
        limit_s = call.timeout_s or self._timeout_s
        try:
            async with asyncio.timeout(limit_s), client.stream(**request) as response:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    _check_size(body)
                return _reply(response, body, began)
        except PROBLEMS as problem:
            return _failure(problem, progress)

    async def close(self) -> None:
        """End all connections."""
        for client in self._clients.values():
            await client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_problem: object) -> None:
        await self.close()


def _settings(region: Region, timeout_s: float, *, debug: bool) -> dict[str, Any]:
    if region.is_insecure and not (region.allow_insecure and (debug or region.is_loopback)):
        raise FederationConfigError.field("url", "must use https")
    try:
        base_url = httpx.URL(region.url)
    except httpx.InvalidURL:  # httpx has more rules than the registry
        raise FederationConfigError.field("url", "must be a URL") from None
    if region.auth.missing is not None:
        raise MissingSecret.field("auth.token", region.auth.missing)
    if region.auth.has_token:
        token_of(region.auth)  # so that a missing secret fails now, not with the first job
    return {
        "base_url": base_url,
        "headers": HEADERS,
        "auth": Bearer(region.auth) if region.auth.has_token else None,
        "verify": True if region.is_insecure else tls_context(region),
        "timeout": httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)),
        "limits": httpx.Limits(max_connections=MAX_CONNECTIONS),
        "follow_redirects": False,
        "trust_env": False,  # neither proxies nor passwords of .netrc
    }


def _client(settings: dict[str, Any]) -> httpx.Client:
    wire = BoundedTransport(verify=settings["verify"], limits=settings["limits"])
    return httpx.Client(**settings, transport=wire)


def _request(call: Call, progress: Progress) -> dict[str, Any]:
    found: dict[str, Any] = {
        "method": call.method, "url": call.path, "content": call.body, "headers": call.headers,
        "extensions": {"trace": progress},
    }  # fmt: skip
    if call.timeout_s is not None:
        found["timeout"] = call.timeout_s
    return found


def _pinned(base: httpx.URL, call: Call, resolve: Resolve) -> dict[str, Any]:
    """Return the parts of a request to a resolved address with the region's host name."""
    try:
        address = resolve(base.host, base.port or PORTS[base.scheme])
    except (OSError, UnicodeError) as problem:
        raise httpx.ConnectError(str(problem)) from problem
    whole = httpx.URL(str(base).rstrip("/") + call.path)
    pinned: dict[str, Any] = {
        "url": whole.copy_with(host=address),
        "headers": {**call.headers, "Host": base.netloc.decode()},
        "extensions": {},
    }
    if base.scheme == "https":
        pinned["extensions"] = {"sni_hostname": base.host}  # the certificate must be for the name
    return pinned


class _TooLong(httpx.HTTPError):
    """The region sends more than the bound of an answer."""


def _check_size(body: bytearray) -> None:
    if len(body) > MAX_ANSWER_BYTES:
        raise _TooLong(f"answer of more than {MAX_ANSWER_BYTES} bytes")


def _reply(response: httpx.Response, body: bytearray, began: float) -> Reply:
    try:
        value = orjson.loads(body)
    except ValueError:
        value = None
    headers = {name.lower(): text for name, text in response.headers.items()}
    return Reply(response.status_code, value, (monotonic() - began) * 1000, headers)


def _failure(problem: Exception, progress: Progress) -> Failure:
    """Return the failure of a call: after the first sent byte, the job may be stored."""
    if isinstance(problem, FederationConfigError):  # no address or no secret to send
        return Failure(Fate.NOT_SENT, problem.reason)
    is_late = isinstance(problem, TimeoutError) and not progress.has_connection
    return Failure(
        Fate.AMBIGUOUS if progress.is_sent else Fate.NOT_SENT,
        _reason(problem, progress),
        is_own=is_late or isinstance(problem, httpx.PoolTimeout),
    )


def _reason(problem: Exception, progress: Progress) -> Reason:
    if isinstance(problem, httpx.PoolTimeout):
        return Reason.BUSY
    if isinstance(problem, _TooLong):
        return Reason.TOO_LONG
    if isinstance(problem, TimeoutError | httpx.TimeoutException):
        return Reason.TOO_LATE if progress.is_sent else Reason.NO_CONNECTION
    for kind, reason in CAUSES.items():
        if any(isinstance(one, kind) for one in _causes(problem)):
            return reason
    return Reason.BROKEN if progress.is_sent else Reason.NO_CONNECTION


CAUSES: Final[dict[type[BaseException], Reason]] = {  # the first match counts
    socket.gaierror: Reason.NO_ADDRESS,
    UnicodeError: Reason.NO_ADDRESS,
    ssl.SSLCertVerificationError: Reason.NO_TRUST,
    ssl.SSLError: Reason.NO_TLS,
}


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


class Bearer(httpx.Auth):
    """Sends the token of a region. Its representation has no secret."""

    def __init__(self, auth: Auth) -> None:
        """Store the credentials, which have or refer to the token."""
        self._auth = auth

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the header. Raises FederationConfigError if the secret is missing."""
        request.headers["Authorization"] = f"Bearer {token_of(self._auth)}"
        yield request


def token_of(auth: Auth) -> str:
    """Return the token of credentials that have one. Raises FederationConfigError."""
    return auth.token.text if auth.token is not None else read_secret(auth.token_ref or "")


def read_secret(reference: str, name: str = "auth.token_ref") -> str:
    """Return the secret at `env:NAME` or `file:/path`.

    Raises UnreadableSecret, which names the reference and never the found content.
    """
    kind, _, place = reference.partition(":")
    try:
        found = os.environ.get(place) if kind == "env" else read_file(place).decode()  # noqa: TID251
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a text"
        raise UnreadableSecret.field(name, f"{reference} cannot be read: {reason}") from None
    secret = (found or "").strip()
    if not is_secret(secret):
        raise UnreadableSecret.field(name, f"{reference} {SECRET_RULE}")
    return secret


def read_file(path: str) -> bytes:
    """Return the content of a regular file. Raises OSError.

    A FIFO or a device could block a call for good, or never end.
    """
    if not stat.S_ISREG(Path(path).stat().st_mode):  # before the open, which may have side effects
        raise OSError(errno.EINVAL, "it is not a regular file")
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        found = bytearray()
        while chunk := os.read(opened, MAX_FILE_BYTES + 1 - len(found)):
            found += chunk
            if len(found) > MAX_FILE_BYTES:
                raise OSError(errno.EFBIG, f"it has more than {MAX_FILE_BYTES} bytes")
        return bytes(found)
    finally:
        os.close(opened)


def tls_context(region: Region) -> ssl.SSLContext:
    """Return the TLS context: trusted authorities, and our certificate with mTLS.

    Raises FederationConfigError naming the unusable file.
    """
    auth = region.auth
    try:
        context = ssl.create_default_context(cadata=_pem(auth.ca_ref))
    except (OSError, ValueError) as problem:  # ssl.SSLError is an OSError
        raise _unusable("auth.ca_ref", problem) from None
    if auth.kind is AuthKind.MTLS:
        try:
            for reference in (auth.cert_ref, auth.key_ref):
                _pem(reference)  # OpenSSL would wait for a FIFO
            context.load_cert_chain(str(_path(auth.cert_ref)), _path(auth.key_ref), _no_passphrase)
        except (OSError, ValueError) as problem:
            raise _unusable("auth.cert_ref", problem) from None
    return context


def _pem(reference: str | None) -> str | None:
    path = _path(reference)
    if path is None:
        return None
    found = read_file(path).decode("ascii")
    if not found.strip():  # an empty file would trust the authorities of the system
        raise OSError(errno.ENODATA, "it is empty")
    return found


def _path(reference: str | None) -> str | None:
    return reference.removeprefix("file:") if reference is not None else None


def _no_passphrase() -> str:  # without it OpenSSL would ask at the terminal
    return ""


def _unusable(name: str, problem: Exception) -> UnreadableSecret:
    reason = getattr(problem, "strerror", None) or type(problem).__name__
    return UnreadableSecret.field(name, f"cannot be used: {reason}")
