"""One region of the registry. Spec: federation 4.1, 7.1; contract 23.2, 23.7.

The settings and the library refer to secrets (`env:NAME` or `file:/path`); operators send the token
itself. No representation of a region shows a secret.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from federation.domain.errors import FederationConfigError
from jobs.domain.outbound import address

MAX_ID: Final = 64
ID_PATTERN: Final = re.compile(r"[a-z][a-z0-9-]*")
ID_RULE: Final = f"must be at most {MAX_ID} of a-z, 0-9 and '-', beginning with a letter"
MAX_URL: Final = 2048
MAX_PORT: Final = 65_535
MAX_NUMBER: Final = 2**31 - 1
MAX_TAGS, MAX_TAG = 64, 64
MAX_SECRET: Final = 8_192
SECRET_RULE: Final = f"must be one word of at most {MAX_SECRET} visible ASCII characters"
LABEL: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
ENV_REF: Final = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,199}")
FILE_REF: Final = re.compile(r"file:/[^\0\n\r]{1,1000}")


class AuthKind(StrEnum):
    """The kind of authentication of requests to a region. Spec: federation 7.1."""

    NONE = "none"
    BEARER = "bearer"
    MTLS = "mtls"


@dataclass(frozen=True, slots=True)
class Secret:
    """A token in clear text. Its representation hides it."""

    text: str = field(repr=False)

    def __post_init__(self) -> None:
        """Check. Raises FederationConfigError, which does not repeat the token."""
        if not is_secret(self.text):
            raise FederationConfigError.field("auth.token", SECRET_RULE)


REFERENCES: Final = ("token_ref", "cert_ref", "key_ref", "ca_ref")


@dataclass(frozen=True, slots=True)
class Auth:
    """The credentials of a region; a token may go with mTLS, `ca_ref` with any kind.

    References are for the settings and the library, `token` is for operators. With `missing` there
    are no credentials to send, and no call is made.
    """

    kind: AuthKind = AuthKind.NONE
    token_ref: str | None = None  # env:NAME or file:/path, read for each new connection pool
    cert_ref: str | None = None  # file:/path of PEM, as the next two
    key_ref: str | None = None
    ca_ref: str | None = None  # trusted instead of the system's authorities
    token: Secret | None = None
    missing: str | None = None  # the problem of the credentials; None: they exist

    def __post_init__(self) -> None:
        """Check. Raises FederationConfigError."""
        _check_kind(self.kind)
        if self.token_ref is not None and not is_reference(self.token_ref):
            raise FederationConfigError.field(
                "auth.token_ref", "must be env:NAME or file:/path, not the secret itself"
            )
        for name in ("cert_ref", "key_ref", "ca_ref"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and FILE_REF.fullmatch(value)):
                raise FederationConfigError.field(f"auth.{name}", "must be file:/path", value)
        if self.missing is None:
            self._check_members()

    @property
    def has_token(self) -> bool:
        """Whether requests carry a token."""
        return self.token is not None or self.token_ref is not None

    @property
    def kept(self) -> "Auth":
        """The placeholder for these credentials in a change that keeps them."""
        return Auth(self.kind, missing="is kept") if self.token is not None else self

    @property
    def references(self) -> tuple[str, ...]:
        """The members that refer to a secret."""
        return tuple(name for name in REFERENCES if getattr(self, name) is not None)

    def _check_members(self) -> None:
        if self.token is not None and self.token_ref is not None:
            raise FederationConfigError.field(
                "auth.token", "must not be given together with token_ref"
            )
        if self.kind is AuthKind.BEARER and not self.has_token:
            raise FederationConfigError.field("auth.token_ref", "is required with kind 'bearer'")
        if self.kind is AuthKind.NONE and self.has_token:
            raise FederationConfigError.field(
                "auth.kind", "must be 'bearer' if a token is given", "none"
            )
        for name in ("cert_ref", "key_ref"):
            if (getattr(self, name) is not None) != (self.kind is AuthKind.MTLS):
                raise FederationConfigError.field(
                    f"auth.{name}",
                    "is required with kind 'mtls' and allowed with no other kind",
                    self.kind,
                )


@dataclass(frozen=True, slots=True)
class Region:
    """An OJS server that jobs may be sent to; any conforming server, of any vendor."""

    id: str
    url: str  # base URL; /ojs/v1/… is appended
    weight: int = 1  # 0: neither overflow nor failover chooses it; a pin may
    tags: tuple[str, ...] = ()
    is_hub: bool = False
    enabled: bool = True
    drain: bool = False  # gets no new jobs
    max_queue_depth: int | None = None  # available jobs at which it is full; None: never
    auth: Auth = field(default_factory=Auth)
    allow_insecure: bool = False  # plain HTTP, see `is_loopback`

    def __post_init__(self) -> None:
        """Check. Raises FederationConfigError."""
        check_id("id", self.id)
        object.__setattr__(self, "url", check_url("url", self.url, allow_http=self.allow_insecure))
        _check_number("weight", self.weight)
        if self.max_queue_depth is not None:
            _check_number("max_queue_depth", self.max_queue_depth)
        object.__setattr__(self, "tags", check_tags("tags", self.tags))
        for name in ("is_hub", "enabled", "drain", "allow_insecure"):
            if not isinstance(getattr(self, name), bool):
                raise FederationConfigError.field(name, "must be true or false")
        if self.url.startswith("http:") and self.auth.kind is AuthKind.MTLS:
            raise FederationConfigError.field("auth.kind", "'mtls' needs an https URL", "mtls")

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, where plain HTTP may be allowed."""
        return is_loopback(urlsplit(self.url).hostname or "")

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port of its server: the only receiver of its token."""
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return parts.scheme, parts.hostname or "", port

    @property
    def is_insecure(self) -> bool:
        """Whether requests to it are readable on the network."""
        return self.url.startswith("http:")


def check_id(name: str, value: object) -> str:
    """Return a region id. Raises FederationConfigError."""
    if not isinstance(value, str) or not is_region_id(value):
        raise FederationConfigError.field(name, ID_RULE, value)
    return value


def is_region_id(value: object) -> bool:
    """Return whether a value can be the id of a region."""
    return isinstance(value, str) and len(value) <= MAX_ID and bool(ID_PATTERN.fullmatch(value))


def check_url(name: str, value: object, *, allow_http: bool) -> str:
    """Return a base URL without slashes at its end. Raises FederationConfigError.

    The value is not repeated in the error: it might hold a password.
    """
    try:
        problem = _url_problem(value, allow_http=allow_http)
    except ValueError:
        problem = "must be a URL"
    if problem:
        raise FederationConfigError.field(name, problem)
    return str(value).rstrip("/")


def _url_problem(value: object, *, allow_http: bool) -> str | None:
    if not isinstance(value, str) or len(value) > MAX_URL or not value.isascii():
        return f"must be a URL of at most {MAX_URL} ASCII characters"
    if any(one <= " " or one in "\x7f\\" for one in value):
        return "must have neither spaces nor backslashes"
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "must be an absolute URL such as https://eu.example.org"
    port = 1 if parts.port is None else parts.port
    wrong = {
        "must use https, or the region must have allow_insecure": (
            parts.scheme == "http" and not allow_http
        ),
        "must not contain credentials": "@" in parts.netloc,
        "must have neither a query nor a fragment": "?" in value or "#" in value,
        f"must name a port from 1 to {MAX_PORT}": not 1 <= port <= MAX_PORT,
        "must not be a link-local, multicast or unspecified address": _is_nowhere(parts.hostname),
    }
    return next((problem for problem, is_so in wrong.items() if is_so), None)


def is_loopback(host: str) -> bool:
    """Return whether a host can only be this machine, without a DNS query."""
    found = address.literal(host)
    return address.is_local_name(host) if found is None else address.is_loopback(found)


def is_host(host: str) -> bool:
    """Return whether a host is an address or a name; `127.1` and `0x7f000001` are neither."""
    if address.literal(host) is not None:
        return True
    labels = host.removesuffix(".").split(".")
    return all(map(LABEL.fullmatch, labels)) and not NUMBER.fullmatch(labels[-1])


def _is_nowhere(host: str) -> bool:
    """Return whether no region can have this address."""
    found = address.literal(host)
    return found is not None and address.is_nowhere(found)


def check_tags(name: str, value: object) -> tuple[str, ...]:
    """Return tags without duplicates, in their order. Raises FederationConfigError."""
    rule = f"must be at most {MAX_TAGS} texts of 1 to {MAX_TAG} characters"
    if not isinstance(value, list | tuple) or len(value) > MAX_TAGS:
        raise FederationConfigError.field(name, rule)
    for n, tag in enumerate(value):
        if not isinstance(tag, str) or not 1 <= len(tag) <= MAX_TAG or not tag.isprintable():
            raise FederationConfigError.field(f"{name}[{n}]", rule, tag)
    return tuple(dict.fromkeys(value))


def is_secret(value: object) -> bool:
    """Return whether a value can be sent as a token."""
    return (
        isinstance(value, str)
        and 1 <= len(value) <= MAX_SECRET
        and all("!" <= one <= "~" for one in value)
    )


def is_reference(value: object) -> bool:
    """Return whether a value refers to a secret."""
    return isinstance(value, str) and bool(ENV_REF.fullmatch(value) or FILE_REF.fullmatch(value))


def _check_kind(kind: object) -> None:
    if not isinstance(kind, AuthKind):
        raise FederationConfigError.field("auth.kind", "must be none, bearer or mtls", kind)


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_NUMBER:
        raise FederationConfigError.field(
            name, f"must be a whole number from 0 to {MAX_NUMBER}", value
        )
