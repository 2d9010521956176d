"""The chain of middleware around handlers: `OJS["EXECUTION_MIDDLEWARE"]`. Spec: contract 12.2.

The setting lists dotted paths, the first outermost. A path is also the name of its wrapper, unless
it is written `name=path`.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from ojs_tasks.server import settings

Wrapper = Callable[[Any, Callable[[Any], Any]], Any]  # (input, next) to output


@cache
def execution_wrappers() -> tuple[Wrapper, ...]:
    """Return the configured wrappers, the outermost first. Raises ImportError or TypeError."""
    return tuple(_imported(entry) for entry in settings().get("EXECUTION_MIDDLEWARE", ()))


def _imported(entry: str) -> Wrapper:
    path = entry.rpartition("=")[2].strip()
    module, _, name = path.rpartition(".")
    try:
        wrapper: Any = getattr(import_module(module), name)
    except (AttributeError, ValueError) as problem:
        raise ImportError(f"no middleware {path!r}: {problem}") from None
    if not callable(wrapper):
        raise TypeError(f"middleware {path!r} is not callable")
    found: Wrapper = wrapper
    return found
