"""Typed readers of the environment: the only module that reads it."""

import json
import os
from math import inf, isfinite
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from jobs.domain.wire.durations import parse_short_duration

PLACES = {  # Django's names of libpq's parameters
    "NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port",
}  # fmt: skip
TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


def text(name: str, default: str | None = None) -> str | None:
    """Return a variable, or the content of the file that `<name>_FILE` names.

    Raises ImproperlyConfigured for a file that cannot be read.
    """
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text().strip()
        except OSError as problem:
            raise ImproperlyConfigured(f"{name}_FILE: {path}: {problem.strerror}") from None
    return os.environ.get(name, default)


def flag(name: str, *, default: bool = False) -> bool:
    """Return a switch. Raises ImproperlyConfigured."""
    raw = text(name)
    if raw is None:
        return default
    if raw.lower() in TRUE | FALSE:
        return raw.lower() in TRUE
    raise ImproperlyConfigured(f"{name} is {raw!r}: use true or false")


def integer(name: str, default: int = 0) -> int:
    """Return a whole number. Raises ImproperlyConfigured."""
    raw = text(name)
    try:
        return default if raw is None else int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} is {raw!r}: use a whole number") from None


def choice(name: str, choices: tuple[str, ...]) -> str:
    """Return one of `choices`, the first of them by default. Raises ImproperlyConfigured."""
    raw = text(name) or choices[0]
    for one in choices:
        if raw.lower() == one.lower():
            return one
    raise ImproperlyConfigured(f"{name} is {raw!r}: use one of {', '.join(choices)}")


def decimal(name: str, default: float = 0.0) -> float:
    """Return a finite number. Raises ImproperlyConfigured."""
    raw = text(name)
    try:
        found = default if raw is None else float(raw)
    except ValueError:
        found = inf
    if not isfinite(found):
        raise ImproperlyConfigured(f"{name} is {raw!r}: use a number")
    return found


def duration_ms(name: str) -> int | None:
    """Return the milliseconds of a duration: ISO 8601 (`PT30S`), short (`30s`), or seconds (`30`).

    Raises ImproperlyConfigured.
    """
    raw = text(name)
    if raw is None:
        return None
    try:
        ms = parse_short_duration(f"{raw}s" if raw.isdecimal() else raw)
    except ValueError:
        ms = 0
    if not ms:
        raise ImproperlyConfigured(f"{name} is {raw!r}: use a duration such as PT30S, 30s or 30")
    return ms


def names(name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return a comma-separated list."""
    raw = text(name)
    if raw is None:
        return default
    return tuple(part.strip() for part in raw.split(",") if part.strip())


def objects(name: str) -> tuple[dict[str, Any], ...]:
    """Return a JSON array of objects. Raises ImproperlyConfigured."""
    raw = text(name)
    try:
        found = json.loads(raw) if raw else []
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ImproperlyConfigured(f"{name} must be a JSON array of objects")
    return tuple(found)


def object_of(name: str) -> dict[str, Any]:
    """Return a JSON object. Raises ImproperlyConfigured."""
    raw = text(name)
    try:
        found = json.loads(raw) if raw else {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ImproperlyConfigured(f"{name} must be a JSON object")
    return found


def is_set(name: str) -> bool:
    """Return whether a variable is given."""
    return name in os.environ or f"{name}_FILE" in os.environ


def database(url: str) -> dict[str, Any]:
    """Return Django's settings for a URL of libpq, with several hosts, sockets or a service.

    `?host=` names a socket directory. Raises ImproperlyConfigured for any other kind of database.
    """
    if not url.startswith(("postgres://", "postgresql://")):
        raise ImproperlyConfigured("DATABASE_URL must start with postgresql://")
    try:
        given = conninfo_to_dict(url)
    except ProgrammingError as problem:
        reason = str(problem).partition(":")[0]  # the rest may have the password
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {reason}") from None
    named = {name: str(given.pop(key, "") or "") for name, key in PLACES.items()}
    if not named["NAME"] and "service" not in given:
        named["NAME"] = "postgres"
    # the engine counts statements and bounds their time
    return {"ENGINE": "ojs_project.database", **named, "OPTIONS": given}
