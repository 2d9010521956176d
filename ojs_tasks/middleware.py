"""Chains of `next()` wrappers, and the one around handlers. Spec: contract 12.1, 12.2.

`OJS["EXECUTION_MIDDLEWARE"]` lists dotted paths, the first outermost; a path is also the name of
its wrapper, unless it is written `name=path`. An app may change a chain in its
`AppConfig.ready()`; with the first job it is fixed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.utils.module_loading import import_string

from ojs_tasks.server import settings

Wrapper = Callable[[Any, Callable[[Any], Any]], Any]  # (input, next) to output


@dataclass(frozen=True, slots=True)
class Link:
    """One wrapper under its name."""

    name: str
    wrapper: Wrapper

    @property
    def description(self) -> str:
        """The first line of the wrapper's docstring."""
        return (getattr(self.wrapper, "__doc__", None) or "").strip().partition("\n")[0]


class Chain:
    """Named wrappers in order, the first outermost. Wrong names raise LookupError or ValueError."""

    def __init__(self, links: Iterable[Link] = ()) -> None:
        """Start with these, in order."""
        self._links: list[Link] = []
        self._is_fixed = False
        for link in links:
            self.add(link.name, link.wrapper)

    def __iter__(self) -> Iterator[Link]:
        """Iterate from the outermost to the innermost."""
        return iter(self._links)

    def add(self, name: str, wrapper: Wrapper) -> None:
        """Put a wrapper inside all others."""
        self._insert(len(self._links), name, wrapper)

    def prepend(self, name: str, wrapper: Wrapper) -> None:
        """Put a wrapper around all others."""
        self._insert(0, name, wrapper)

    def insert_before(self, existing: str, name: str, wrapper: Wrapper) -> None:
        """Put a wrapper directly around another one."""
        self._insert(self._place(existing), name, wrapper)

    def insert_after(self, existing: str, name: str, wrapper: Wrapper) -> None:
        """Put a wrapper directly inside another one."""
        self._insert(self._place(existing) + 1, name, wrapper)

    def remove(self, name: str) -> None:
        """Take a wrapper out."""
        self._check_open()
        del self._links[self._place(name)]

    def fix(self) -> tuple[Link, ...]:
        """Return the links; from now on the chain cannot be changed."""
        self._is_fixed = True
        return tuple(self._links)

    def _insert(self, place: int, name: str, wrapper: Wrapper) -> None:
        self._check_open()
        if any(link.name == name for link in self._links):
            raise ValueError(f"the chain has a middleware {name!r} already")
        if not callable(wrapper):
            raise TypeError(f"middleware {name!r} is not callable")
        self._links.insert(place, Link(name, wrapper))

    def _place(self, name: str) -> int:
        for place, link in enumerate(self._links):
            if link.name == name:
                return place
        raise LookupError(f"the chain has no middleware {name!r}")

    def _check_open(self) -> None:
        if self._is_fixed:
            raise RuntimeError("the chain is in use; change it in AppConfig.ready()")


@cache
def execution_chain() -> Chain:
    """Return the chain around handlers: the configured wrappers.

    Raises ImportError, TypeError or ValueError for a wrong setting.
    """
    return Chain(configured(settings().get("EXECUTION_MIDDLEWARE", ())))


def configured(entries: Iterable[str]) -> list[Link]:
    """Return the wrappers of a setting. Raises ImportError."""
    links = []
    for entry in entries:
        name, _, path = entry.rpartition("=")
        links.append(Link(name.strip() or path.strip(), import_string(path.strip())))
    return links
