"""Ranges of versions, as workers declare them. Spec: job-versioning 8.1, 15.1; contract 22.2.

    range      = "*" / constraint *( sep constraint )
    constraint = [ ">=" / ">" / "<=" / "<" / "=" ] version
    sep        = spaces, or a comma with spaces around it

All constraints apply at once, so a range is an interval of versions.
"""

import re
from dataclasses import dataclass
from typing import Final

from ojs_tasks.versions import PATTERN, Version, parse_version

MAX_RANGE: Final = 256  # characters
SPACED: Final = re.compile(r"(>=|<=|>|<|=) +")
BETWEEN: Final = re.compile(r" *, *| +")
CONSTRAINT: Final = re.compile(r"(>=|<=|>|<|=|)([^<>=]*)")
_CONSTRAINT: Final = rf"(>=|<=|>|<|=)? *{PATTERN.pattern}"
GRAMMAR: Final = re.compile(rf" *(\*|{_CONSTRAINT}(( *, *| +){_CONSTRAINT})*) *")  # for documents
EXCLUDED: Final = "accepts no version: its constraints exclude each other"
LOWEST: Final = Version(0, 0)


@dataclass(frozen=True, slots=True)
class Range:
    """The versions from `low` up to, but without, `high`; null: without end."""

    low: Version = LOWEST
    high: Version | None = None

    def __contains__(self, version: Version) -> bool:
        """Return whether a version lies in the range."""
        return self.low <= version and (self.high is None or version < self.high)

    @property
    def is_empty(self) -> bool:
        """Whether no version lies in the range."""
        return self.high is not None and self.low >= self.high

    def meet(self, other: "Range") -> "Range":
        """Return the intersection of two ranges."""
        ends = [end for end in (self.high, other.high) if end is not None]
        return Range(max(self.low, other.low), min(ends, default=None))


ANY: Final = Range()


def parse_range(value: object) -> Range:
    """Read a range. Raises ValueError, which names the wrong constraint and the reason."""
    if not isinstance(value, str) or not value.strip(" "):
        raise ValueError('must be text such as "*", "2.0" or ">=1.0 <3.0"')
    if len(value) > MAX_RANGE:
        raise ValueError(f"must have at most {MAX_RANGE} characters")
    text = value.strip(" ")
    if text == "*":
        return ANY
    found = ANY
    for part in BETWEEN.split(SPACED.sub(r"\1", text)):
        found = found.meet(_constraint(part))
    if found.is_empty:
        raise ValueError(EXCLUDED)
    return found


def _constraint(text: str) -> Range:
    if not text:
        raise ValueError("has an empty constraint beside a comma")
    if text == "*":
        raise ValueError("'*' stands alone: it means any version")
    match = CONSTRAINT.fullmatch(text)
    if match is None:
        raise ValueError(f"constraint {text!r} must be >=, >, <=, < or = and one version")
    try:
        version = parse_version(match[2])
    except ValueError as problem:
        raise ValueError(
            f"constraint {text!r} {problem}; the operators are >=, >, <=, < and ="
        ) from None
    after = version.following
    return {
        ">=": Range(version),
        ">": Range(after),
        "<": Range(LOWEST, version),
        "<=": Range(LOWEST, after),
    }.get(match[1], Range(version, after))
