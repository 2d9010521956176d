"""Versions of jobs: `major.minor`, as producers write them.

Spec: job-versioning 5, contract 22.2. The sent text is stored unchanged; this module compares it.
"""

import json
import re
from typing import Final, NamedTuple, Self

PARTS: Final = ("major", "minor", "patch")
DIGITS: Final = 9  # of a part, so that it fits into an integer column
NUMBER: Final = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_NUMBER: Final = rf"(0|[1-9][0-9]{{0,{DIGITS - 1}}})"
PATTERN: Final = re.compile(rf"{_NUMBER}(\.{_NUMBER}){{0,2}}")
MAX_SHOWN: Final = 40  # characters of a part that an answer repeats
SEPARATOR: Final = "@"  # between a type and its version


class Version(NamedTuple):
    """A comparable version: 1.10 is later than 1.9, `2` is 2.0, a patch number is ignored."""

    major: int
    minor: int = 0

    def __str__(self) -> str:
        """Return the text with both parts."""
        return f"{self.major}.{self.minor}"

    @property
    def following(self) -> Self:
        """The lowest version above it."""
        return self._replace(minor=self.minor + 1)


def parse_version(value: object) -> Version:
    """Read a version. Raises ValueError with the wrong part and the reason."""
    if isinstance(value, float):
        problem = 'must be text such as "1.10" where it has two parts: a number loses zeros'
        raise ValueError(problem)  # noqa: TRY004 - a refused value, of whatever type
    if isinstance(value, int) and not isinstance(value, bool):
        return Version(_part("major", str(value) if abs(value) < 10**DIGITS else "9" * 99))
    if not isinstance(value, str):
        raise ValueError('must be text such as "2.0", or a whole number')  # noqa: TRY004 - as above
    parts = value.split(".")
    if len(parts) > len(PARTS):
        raise ValueError(f"must be major.minor, has {len(parts)} parts")
    numbers = [_part(name, part) for name, part in zip(PARTS, parts, strict=False)]
    return Version(*numbers[:2])


def _part(name: str, text: str) -> int:
    if not text:
        raise ValueError(f"has an empty {name} part: it must be major.minor")
    if NUMBER.fullmatch(text) and len(text) <= DIGITS:
        return int(text)
    shown = text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
    if text.isascii() and text.isdigit():
        problem = "has a leading zero" if text[0] == "0" else f"has more than {DIGITS} digits"
    else:
        problem = "is not a whole number"
    raise ValueError(f"must be major.minor, its {name} part {shown!r} {problem}")


def split_type(text: str) -> tuple[str, str | None]:
    """Split `type@version` at the last `@`; None: there is no version."""
    base, found, version = text.rpartition(SEPARATOR)
    return (base, version) if found else (text, None)


def version_said(given: str, version: str | None, option: str | None) -> str | int | None:
    """Return the version of a valid enqueue request, as written; None: it has none.

    `given` is its type, the others are the JSON of `version` and `options.version`. The first of
    these two that is set counts. Both override the version behind the type.
    """
    for raw in (version, option):
        said: str | int | None = None if raw is None else json.loads(raw)
        if said is not None:
            return said
    return split_type(given)[1]
