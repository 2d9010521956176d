"""The JSON arguments of a call: its positions, then one object of its keywords if it has any."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

KEYWORDS: Final = "__kwargs__"  # marks the object of a call's keyword arguments


def joined(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the JSON arguments of a call: positions, then one object of keywords if any."""
    return [*args, {KEYWORDS: kwargs}] if kwargs else list(args)


def split(args: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the positions and the keywords of JSON arguments."""
    if args and isinstance(args[-1], dict) and args[-1].keys() == {KEYWORDS}:
        return args[:-1], args[-1][KEYWORDS]
    return args, {}
