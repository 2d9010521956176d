"""The installed extensions, and the extensions that implement a hook.

`OJS["EXTENSIONS"]` is one ordered list of dotted paths, like Django's MIDDLEWARE.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Concatenate, Protocol, TypeVar

from django.utils.module_loading import import_string

from jobs.conf import conf, read_anew

G = TypeVar("G", bound="Extension")


class Extension:
    """Base of the groups of hooks.

    An extension inherits from each group whose hooks it implements. A hook that an extension does
    not override is never called.
    """


@cache
def installed() -> tuple[Extension, ...]:
    """Return all extensions in configured order. Raises ImportError or TypeError."""
    found = tuple(import_string(path)() for path in conf().extensions)
    for extension in found:
        if not isinstance(extension, Extension):
            raise TypeError(f"{type(extension).__name__} is not a jobs.extensions.Extension")
    return found


class _ImplementersByHook(dict[Callable[..., object], tuple[Any, ...]]):
    """The implementers of each hook, found at its first call.

    `functools.cache` would build a key at each call, since a hook is neither a text nor a number.
    """

    def __missing__(self, hook: Callable[..., object]) -> tuple[Any, ...]:
        found = tuple(one for one in installed() if _overrides(type(one), hook))
        self[hook] = found
        return found

    def cache_clear(self) -> None:
        """Find the implementers again."""
        self.clear()


class _Implementers(Protocol):
    """The type of `implementers`: the group of a hook is the type of its implementers."""

    def __call__(self, hook: Callable[Concatenate[G, ...], object], /) -> tuple[G, ...]: ...


def _overrides(kind: type[Extension], hook: Callable[..., object]) -> bool:
    inherited = any(vars(base).get(hook.__name__) is hook for base in kind.__mro__)
    return inherited and getattr(kind, hook.__name__) is not hook


by_hook = _ImplementersByHook()
# Returns the extensions that override a hook of a group, in configured order:
# `for extension in implementers(EnqueueHooks.prepare): extension.prepare(draft, caller)`.
implementers: _Implementers = by_hook.__getitem__

read_anew(installed, by_hook)
