"""Reads configuration from JSON strictly: an unknown member is refused by name.

Spec: contract 23.2. The module also reads upstream's other spellings of two members.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from enum import StrEnum
from typing import Any, Final, TypeVar

from federation.domain.config import (
    CircuitBreaker,
    Failover,
    FederationConfig,
    HealthCheck,
    InDoubt,
    Mode,
    Replication,
    Topology,
)
from federation.domain.errors import FederationConfigError
from federation.domain.region import REFERENCES, Auth, AuthKind, Region, Secret

T = TypeVar("T")

ALIASES: Final = {
    "open_after_failures": "failure_threshold",
    "half_open_after_seconds": "cooldown_seconds",
}
SHOWN: Final = frozenset({"token_set", "certificate_set", "ca_set"})  # of auth, in answers only
SETTINGS_ONLY: Final = "is allowed in OJS_FEDERATION_REGIONS only: use auth.token"
IGNORED: Final = frozenset({"probe_count"})  # upstream: one probe, D-FED-7


def read_config(value: object, regions: tuple[Region, ...] | None = None) -> FederationConfig:
    """Return a configuration; `regions` replaces the member if regions are stored elsewhere.

    Raises FederationConfigError naming the member, such as `regions[0].url`.
    """
    given = _members(value, "the configuration", FederationConfig)
    if regions is not None:
        given["regions"] = regions
    elif "regions" in given:
        given["regions"] = read_regions(given["regions"])
    for name, read in PARTS.items():
        if name in given:
            given[name] = read(given[name])
    if "topology" in given:
        given["topology"] = _choice("topology", given["topology"], Topology)
    _require(given, "local_region", "regions")
    return FederationConfig(**given)


def _health_check(value: object) -> HealthCheck:
    return HealthCheck(**_members(value, "health_check", HealthCheck))


def _breaker(value: object) -> CircuitBreaker:
    name = "circuit_breaker"
    raw = dict(_object(value, name))
    for alias, member in ALIASES.items():
        if alias in raw:
            if member in raw:
                raise FederationConfigError.field(
                    f"{name}.{alias}", f"is an alias of {member}: give only one of them"
                )
            raw[member] = raw.pop(alias)
    kept = {key: one for key, one in raw.items() if key not in IGNORED}
    return CircuitBreaker(**_members(kept, name, CircuitBreaker))


def _failover(value: object) -> Failover:
    given = _members(value, "failover", Failover)
    if "in_doubt" in given:
        given["in_doubt"] = _choice("failover.in_doubt", given["in_doubt"], InDoubt)
    return Failover(**given)


def _replication(value: object) -> Replication:
    given = _members(value, "replication", Replication)
    if "mode" in given:
        given["mode"] = _choice("replication.mode", given["mode"], Mode)
    return Replication(**given)


PARTS: Final[Mapping[str, Callable[[object], object]]] = {
    "health_check": _health_check,
    "circuit_breaker": _breaker,
    "failover": _failover,
    "replication": _replication,
}


def read_regions(value: object) -> tuple[Region, ...]:
    """Return regions; an error names the index."""
    if not isinstance(value, list | tuple):
        raise FederationConfigError.field("regions", "must be an array", value)
    found = []
    for n, one in enumerate(value):
        with _below(f"regions[{n}]"):
            found.append(read_region(_object(one, "region")))
    return tuple(found)


def read_region(value: object, auth: Callable[[object], Auth] | None = None) -> Region:
    """Return a region; `auth` reads the member `auth`, by default with `read_auth`.

    Raises FederationConfigError naming the member.
    """
    given = _members(value, "a region", Region)
    _require(given, "id", "url")
    if "auth" in given:
        given["auth"] = (auth or read_auth)(given["auth"])
    return Region(**given)


def read_auth(value: object) -> Auth:
    """Return the references to the secrets of a region; null: no secrets.

    For the settings and the client library: `read_given_auth` reads requests of operators.
    """
    if value is None:
        return Auth()
    given = _members(value, "auth", Auth)
    for name in ("token", "missing"):
        if name in given:
            raise FederationConfigError.field(f"auth.{name}", "is not allowed here: use token_ref")
    if "kind" in given:
        given["kind"] = _choice("auth.kind", given["kind"], AuthKind)
    return Auth(**given)


def read_given_auth(value: object) -> Auth:
    """Return the credentials that an operator sends; null: no credentials.

    A reference is refused: it would let any caller with the right to change regions read the
    server's environment and files. An absent token means the token of the registry: `missing` is
    set. Raises FederationConfigError.
    """
    if value is None:
        return Auth()
    given = _object(value, "auth")
    for name, one in given.items():
        if name in REFERENCES and one is not None:
            raise FederationConfigError.field(f"auth.{name}", SETTINGS_ONLY)
        if name not in {"kind", "token", *REFERENCES, *SHOWN}:
            raise FederationConfigError.field(f"auth.{str(name)[:64]}", "is not a member of auth")
    kind = _choice("auth.kind", given.get("kind", AuthKind.NONE), AuthKind)
    if kind is AuthKind.MTLS:
        raise FederationConfigError.field("auth.kind", SETTINGS_ONLY)
    token = given.get("token")
    if token is None and kind is AuthKind.BEARER:
        return Auth(kind, missing="is required with kind 'bearer'")
    return Auth(kind, token=None if token is None else Secret(token))


@contextmanager
def _below(path: str) -> Iterator[None]:
    try:
        yield
    except FederationConfigError as problem:
        details = {**problem.details, "field": f"{path}.{problem.details['field']}"}
        details["errors"] = [
            {**one, "field": f"{path}.{one['field']}"} for one in details["errors"]
        ]
        raise FederationConfigError(f"{path}.{problem.message}", details=details) from None


def _object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise FederationConfigError.field(name, "must be an object", value)
    return value


def _members(value: object, name: str, kind: type[Any]) -> dict[str, Any]:
    known = {one.name for one in fields(kind)}
    given = dict(_object(value, name))
    for member in given:
        if member not in known:
            path = str(member)[:64] if " " in name else f"{name}.{str(member)[:64]}"
            raise FederationConfigError.field(path, "is not a member of the configuration")
    return {member: _whole(one) for member, one in given.items()}


def _whole(value: object) -> Any:
    """Return 5.0 as 5: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _require(given: Mapping[str, Any], *members: str) -> None:
    for member in members:
        if member not in given:
            raise FederationConfigError.field(member, "is required")


def _choice(name: str, value: object, kind: type[StrEnum]) -> Any:
    try:
        return kind(str(value))
    except ValueError:
        raise FederationConfigError.field(
            name, f"must be one of {', '.join(kind)}", value
        ) from None
