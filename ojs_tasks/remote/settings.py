"""The settings of remote mode, from the setting `OJS`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any, Final, Self
from urllib.parse import urlsplit

from ojs_tasks.exceptions import NoServer
from ojs_tasks.remote.key import ApiKey
from ojs_tasks.tracing import HANDLERS

TIMEOUT_S: Final = 10.0
RETRIES: Final = 3
MAX_RETRIES: Final = 20
API: Final = "/ojs/v1"


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """The address of the server, the credentials, and the bounds of a request."""

    address: str  # without a slash at its end, and without /ojs/v1
    key: ApiKey = field(default_factory=lambda: ApiKey(None))
    timeout_s: float = TIMEOUT_S  # of one try
    retries: int = RETRIES  # after the first try
    ca: str | None = None  # a file of certificates; null: those of the package certifi
    enqueue_on_commit: bool = False
    trace_handlers: str = "link"  # spans of attempts; or "child", of the producer's span

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Read the setting `OJS`. Raises NoServer for a wrong value."""
        try:
            key = ApiKey(options.get("API_KEY"))
            return cls(
                _address(str(options.get("SERVER") or ""), key, options),
                key,
                _number(options, "TIMEOUT", TIMEOUT_S, least=0.1, most=600),
                int(_number(options, "RETRIES", RETRIES, least=0, most=MAX_RETRIES)),
                None if options.get("CA") is None else str(options["CA"]),
                bool(options.get("ENQUEUE_ON_COMMIT", False)),
                _choice(options, "TRACE_HANDLERS", HANDLERS),
            )
        except (TypeError, ValueError) as problem:
            raise NoServer(str(problem)) from None

    def with_address(self, address: str, options: Mapping[str, Any]) -> Self:
        """Return the settings with another address. Raises NoServer."""
        try:
            return replace(self, address=_address(address, self.key, options))
        except ValueError as problem:
            raise NoServer(str(problem)) from None


def _address(text: str, key: ApiKey, options: Mapping[str, Any]) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise ValueError("OJS['SERVER'] must be an address such as https://jobs.example.org")
    if parts.username is not None or parts.password is not None:
        raise ValueError("OJS['SERVER'] must hold no credentials: put the key into OJS['API_KEY']")
    if parts.query or parts.fragment:
        raise ValueError("OJS['SERVER'] must have no query and no fragment")
    is_open = parts.scheme == "http" and not _is_loopback(parts.hostname)
    if key and is_open and options.get("ALLOW_HTTP") is not True:
        raise ValueError(
            "OJS['SERVER'] must be an https:// address: otherwise the network sees the key;"
            " OJS['ALLOW_HTTP'] = True permits http:// in a trusted network"
        )
    return text.rstrip("/").removesuffix(API)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _choice(options: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = options.get(name, choices[0])
    if value not in choices:
        raise ValueError(f"OJS[{name!r}] is {value!r}: use one of {', '.join(choices)}")
    return str(value)


def _number(
    options: Mapping[str, Any], name: str, default: float, *, least: float, most: float
) -> float:
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"OJS[{name!r}] must be a number from {least:g} to {most:g}")
    return value
