"""Versions of schemas, which include patches. Spec: contract 30.1, 30.2."""

from typing import NamedTuple

from ojs_tasks.versions import Version, parse_version

PATCH = 2  # the position of the patch in `major.minor.patch`


class Key(NamedTuple):
    """The comparison key of a version: `1`, `1.0` and `1.0.0` are equal."""

    major: int
    minor: int
    patch: int = 0

    @property
    def routed(self) -> Version:
        """The version that routes jobs."""
        return Version(self.major, self.minor)


def parse_key(value: object) -> Key:
    """Read a version as written. Raises ValueError, which describes the error."""
    version = parse_version(value)
    parts = str(value).split(".")
    return Key(*version, int(parts[PATCH]) if len(parts) > PATCH else 0)


def shown_version(text: str) -> str | int:
    """Return a version as answers show it: a bare integer is a number."""
    return int(text) if text.isascii() and text.isdigit() else text
