"""Remember writes that the database refused, for health.

Each process remembers its own. A probe that writes would miss a full disk: small updates fit into
existing pages.
"""

from time import monotonic
from typing import Final

from django.db import Error

from jobs.repeat import refusal

REMEMBERED_S: Final = 15.0


class _Last:
    at = -REMEMBERED_S
    message = ""


def note(problem: Error) -> None:
    """Remember a refusal if it stops all writes."""
    found = refusal(problem)
    if found is not None and found.stops_writes:
        _Last.at, _Last.message = monotonic(), found.message


def lately() -> str | None:
    """Return why a write was refused lately; None: no write was."""
    return _Last.message if monotonic() - _Last.at < REMEMBERED_S else None


def clear() -> None:
    """Drop the remembered refusal, for tests."""
    _Last.at = -REMEMBERED_S
