"""The chains of `next()` wrappers around enqueue and around handlers. Spec: contract 12.1, 12.2.

`OJS["ENQUEUE_MIDDLEWARE"]` and `OJS["EXECUTION_MIDDLEWARE"]` list dotted paths, the first
outermost; a path is also the name of its wrapper, unless it is written `name=path`. An app may
change a chain in its `AppConfig.ready()`; with the first job it is fixed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.utils.module_loading import import_string

from jobs.conf import conf, read_anew
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import ValidationFailed

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


def ojs_validate(
    draft: JobDraft, following: Callable[[JobDraft], JobDraft | None]
) -> JobDraft | None:
    """Refuse a job without arguments whose meta asks for it. Spec: contract 24.7."""
    if draft.meta.get("ojs_validate") is True and not draft.args:
        raise ValidationFailed.field("args", "must not be empty with meta.ojs_validate", [])
    return following(draft)


@cache
def enqueue_chain() -> Chain:
    """Return the chain around enqueue: the configured wrappers, then the server's own.

    Raises ImportError, TypeError or ValueError for a wrong setting.
    """
    return Chain([*_configured(conf().enqueue_middleware), Link("ojs_validate", ojs_validate)])


@cache
def execution_chain() -> Chain:
    """Return the chain around handlers. Raises as `enqueue_chain`."""
    return Chain(_configured(conf().execution_middleware))


def _configured(entries: Iterable[str]) -> list[Link]:
    links = []
    for entry in entries:
        name, _, path = entry.rpartition("=")
        links.append(Link(name.strip() or path.strip(), import_string(path.strip())))
    return links


@cache
def enqueue_wrappers() -> tuple[Wrapper, ...]:
    """Return the wrappers around enqueue, innermost first; the chain is fixed now."""
    return tuple(link.wrapper for link in reversed(enqueue_chain().fix()))


read_anew(enqueue_chain, execution_chain, enqueue_wrappers)
