"""Values of terms: the checks of their types, and their form on the wire.

Each function takes the value and the name to use in problems. It raises TypeError, ValueError or
UnknownTerm. The server checks ranges and patterns.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from ojs_tasks.exceptions import UnknownTerm
from ojs_tasks.foreign_terms import FOREIGN_MEMBERS, refusal
from ojs_tasks.times import duration

Convert = Callable[[Any, str], Any]


def any_of(*kinds: type) -> Convert:
    """Return a check of the value's type; a boolean is no number."""
    named = " or ".join(kind.__name__ for kind in kinds)

    def check(value: object, name: str) -> object:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise TypeError(f"{name} must be {named}, not {value!r}")
        return value

    return check


def texts(value: object, name: str) -> list[str]:
    """Return a list of texts; a text alone is none."""
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise TypeError(f"{name} must be a list of texts, not {value!r}")
    return [any_of(str)(one, name) for one in value]


def dictionary(value: object, name: str) -> dict[str, Any]:
    """Return a new dictionary with the same members."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dictionary, not {value!r}")
    return dict(value)


def dictionary_of(table: Mapping[str, Convert]) -> Convert:
    """Return a converter of a dictionary with these members."""

    def convert(value: object, name: str) -> dict[str, Any]:
        given = dictionary(value, name)
        for member in given:
            if member not in table:
                raise refusal(name, member, table, FOREIGN_MEMBERS)
        return {
            member: None if one is None else table[member](one, f"{name}[{member!r}]")
            for member, one in given.items()
        }

    return convert


whole, number, text = any_of(int), any_of(int, float), any_of(str)
retry: Final = dictionary_of(
    {
        "max_attempts": whole, "initial_interval": duration, "max_interval": duration,
        "backoff_coefficient": number, "backoff_strategy": text, "jitter": any_of(bool),
        "non_retryable_errors": texts, "on_exhaustion": text,
    }
)  # fmt: skip
unique: Final = dictionary_of(
    {
        "keys": texts, "args_keys": texts, "meta_keys": texts, "period": duration,
        "states": texts, "on_conflict": text,
    }
)  # fmt: skip
_window: Final = dictionary_of({"limit": whole, "period": duration})
_limit: Final = dictionary_of(
    {
        "key": text, "concurrency": whole, "rate": _window, "throttle": _window, "limit": whole,
        "period": duration, "max_per_second": number, "on_limit": text, "scope": text,
    }
)  # fmt: skip


def rate_limit(value: object, name: str) -> dict[str, Any]:
    """Return a limit; Celery's text form gets the advice that fits."""
    if isinstance(value, str):
        raise UnknownTerm(f'{name}={value!r} is Celery\'s form: use {{"limit": 10, "period": 60}}')
    found: dict[str, Any] = _limit(value, name)
    return found


def seconds(value: object, name: str) -> int:
    """Return whole seconds; -1 has a meaning of its own."""
    if isinstance(value, timedelta):
        return round(value.total_seconds())
    whole_seconds: int = round(number(value, name))
    return whole_seconds
