"""Hooks into the cached configuration of extensions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.extensions.registry import Extension, implementers

Document = Mapping[str, Any]  # the configuration of an object as JSON, with the names of the API


@dataclass(frozen=True, slots=True)
class ConfigKind:
    """A kind of objects with a configuration, such as pools.

    `read` returns the configuration of an object by its name and tenant, or None without one.
    `write` is the dotted path of a function of a service. It takes name, tenant, document and
    caller, and stores the document; for None it deletes the object, or raises Conflict.
    """

    name: str
    label: str  # for pages
    tables: tuple[str, ...]  # only services of its changes write them
    read: Callable[[str, str | None], Document | None]
    write: str
    see: str  # name of the permit to see its history
    change: str  # name of the permit to restore a version
    delete: str = ""  # name of the permit to restore that there was no object; empty: `change`
    can_vanish: bool = True  # whether a restore deletes an object that did not exist then

    def permit(self, document: Document | None) -> str:
        """Return the name of the permit to restore a document."""
        return self.change if document is not None or not self.delete else self.delete


class ConfigurationHooks(Extension):
    """Hooks of an extension that caches its configuration."""

    def clear_caches(self) -> None:
        """Clear the cached configuration behind the claim hooks and the lane hooks.

        Called when a cached configuration version turns out to be stale, in any thread.
        """

    def configuration_tables(self) -> Sequence[str]:
        """Name the tables of this configuration: a scratch store copies them."""
        return ()

    def kinds(self) -> Iterable[ConfigKind]:
        """Return the kinds of objects whose configuration it stores, for their history."""
        return ()


def kinds_of_extensions() -> Iterator[ConfigKind]:
    """Return the kinds of configuration of all extensions."""
    for extension in implementers(ConfigurationHooks.kinds):
        yield from extension.kinds()


def clear_caches() -> None:
    """Clear the cached configuration of all extensions."""
    for extension in implementers(ConfigurationHooks.clear_caches):
        extension.clear_caches()
