"""Compare two JSON documents member by member."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Final

MOST_LINES: Final = 400  # of the difference of two texts
ABSENT: Final = object()
Members = Mapping[Any, Any]
Document = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A member that differs; `path` has the names from the top, such as `limits.max_queues`.

    A member that one document lacks is None there, and `added` or `removed` is true.
    """

    path: str
    before: Any
    after: Any
    added: bool = False
    removed: bool = False

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Return the lines of two longer texts: a sign (`+`, `-` or a space), and the line.

        Empty for other values.
        """
        texts = [one for one in (self.before, self.after) if one is not None]
        if not texts or any(not isinstance(one, str) or "\n" not in one for one in texts):
            return []
        before, after = ((one or "").splitlines() for one in (self.before, self.after))
        found = list(unified_diff(before, after, lineterm="", n=2))[2 : 2 + MOST_LINES]
        return [(line[:1], line[1:]) if line[:1] in "+- " else ("…", "") for line in found]


def differences(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> list[Difference]:
    """Return the members that differ, by path. None: a document without members."""
    return list(_members("", before or {}, after or {}))


def _members(
    path: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Difference]:
    for name in dict.fromkeys((*before, *after)):
        yield from _values(
            f"{path}.{name}" if path else str(name),
            before.get(name, ABSENT),
            after.get(name, ABSENT),
        )


def _values(path: str, before: Any, after: Any) -> Iterator[Difference]:
    if before == after and type(before) is type(after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _members(path, before, after)
    elif isinstance(before, list) and isinstance(after, list) and _has_objects(before, after):
        yield from _members(path, _numbered(before), _numbered(after))
    else:
        yield Difference(
            path,
            None if before is ABSENT else before,
            None if after is ABSENT else after,
            added=before is ABSENT,
            removed=after is ABSENT,
        )


def _numbered(values: list[Any]) -> Members:
    return {str(n): value for n, value in enumerate(values, 1)}


def _has_objects(*lists: list[Any]) -> bool:
    return any(isinstance(one, Mapping) for values in lists for one in values)
