"""What the database refused to write, remembered for health.

Each process remembers its own. A probe that writes would miss a full disk: small updates find room
in pages that are there.
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
    """Say why a write was refused lately; None: none was."""
    return _Last.message if monotonic() - _Last.at < REMEMBERED_S else None


def forget() -> None:
    """Remember nothing, for tests."""
    _Last.at = -REMEMBERED_S
