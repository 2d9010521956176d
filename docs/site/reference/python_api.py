"""The Python API, from signatures and docstrings."""

import inspect
import types
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

MODULES: Final = (
    "ojs_tasks", "ojs_tasks.testing", "ojs_tasks.compat.celery", "jobs.middleware",
    "jobs.extensions", "federation.client",
)  # fmt: skip


def page() -> str:
    """Return the page in Markdown."""
    lines = ["# Python API"]
    for name in MODULES:
        if find_spec(name):
            lines += _module(import_module(name))
    return "\n".join([*lines, ""])


def _module(module: types.ModuleType) -> Iterator[str]:
    yield from ("", f"## `{module.__name__}`", "", *_doc(module))
    for name, member in public(module).items():
        if inspect.isclass(member):
            yield from _class(name, member)
        elif callable(member):
            yield from _function(name, member, 3)


def public(module: types.ModuleType) -> dict[str, Any]:
    """Return the public classes and functions of a module in its order.

    Without `__all__` it holds the classes and functions that the module itself defines.
    """
    if names := getattr(module, "__all__", None):
        return {name: getattr(module, name) for name in names}
    return {
        name: member
        for name, member in vars(module).items()
        if not name.startswith("_") and getattr(member, "__module__", None) == module.__name__
    }


def _class(name: str, cls: type) -> Iterator[str]:
    yield from ("", f"### `{name}`", "", *_signature(f"class {name}", cls), *_doc(cls))
    for method, member in vars(cls).items():
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if method.startswith("_") or not inspect.getdoc(plain):
            continue
        if isinstance(plain, property):
            yield from ("", f"#### `{name}.{method}`", "", *_doc(plain))
        elif inspect.isfunction(plain):
            yield from _function(f"{name}.{method}", plain, 4)


def _function(name: str, function: Any, level: int) -> Iterator[str]:
    last = name.rpartition(".")[2]
    word = "async def" if inspect.iscoroutinefunction(function) else "def"
    yield from ("", f"{'#' * level} `{name}`", "", *_signature(f"{word} {last}", function))
    yield from _doc(function)


def _signature(head: str, target: Any) -> Iterator[str]:
    """Yield a block with the signature; a class without one of its own has none."""
    try:
        found = inspect.signature(target)
    except (TypeError, ValueError):
        return
    if inspect.isclass(target):
        if issubclass(target, BaseException) or not found.parameters:
            return
        found = found.replace(return_annotation=inspect.Signature.empty)
    shown = [one for one in found.parameters.values() if not one.name.startswith("_")]
    found = found.replace(parameters=shown)
    text = f"{head}{found}".replace("<factory>", "…")
    if len(text) > 88:  # noqa: PLR2004 - the width of a block
        args = ",\n    ".join(_parameters(found))
        arrow = "" if found.return_annotation is found.empty else f" -> {_return(found)}"
        text = f"{head}(\n    {args},\n){arrow}"
    yield from ("```python", text, "```", "")


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    """Yield each parameter, and the marks between them."""
    is_after_star = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            is_after_star = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not is_after_star:
            is_after_star = True
            yield "*"
        yield str(parameter).replace("<factory>", "…")


def _return(signature: inspect.Signature) -> str:
    return str(signature).rpartition(" -> ")[2]


def _doc(target: Any) -> list[str]:
    return (inspect.getdoc(target) or "").splitlines()
