"""`Plan`: the handlers and schedules of a project, and what was not translated."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any, Final

WIDTH: Final = 100


@dataclass(frozen=True, slots=True)
class PlannedHandler:
    """A function that becomes a handler. `function` is an expression below `module`."""

    variable: str
    type: str
    module: str
    function: str
    terms: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedSchedule:
    """A schedule of a handler, with the arguments and terms of its jobs."""

    name: str
    expression: str
    timezone: str
    variable: str  # of the handler
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    terms: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Plan:
    """What becomes a module `ojs_jobs`; `notes` name all that does not."""

    source: str
    handlers: list[PlannedHandler] = field(default_factory=list)
    schedules: list[PlannedSchedule] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def name(self, wanted: str) -> str:
        """Return an identifier that no handler and no schedule has yet."""
        base = identifier(wanted)
        taken = {one.variable for one in self.handlers} | {one.name for one in self.schedules}
        numbered = (f"{base}_{number}" for number in range(2, len(taken) + 3))
        return next(one for one in (base, *numbered) if one not in taken)

    @property
    def text(self) -> str:
        """The module."""
        names = ["job", *(["periodic"] if self.schedules else [])]
        blocks = [
            f'"""Handlers of {self.source}.\n\nWritten by a command of ojs_tasks: edit it.\n"""',
            "\n".join(f"import {one}" for one in sorted(self._modules())),
            f"from ojs_tasks import {', '.join(names)}",
            *map(_handler, self.handlers),
            *map(_schedule, sorted(self.schedules, key=lambda one: bool(one.kwargs))),
        ]
        return "\n\n".join(block for block in blocks if block) + "\n"

    def _modules(self) -> set[str]:
        classes = [one for handler in self.handlers for one in _classes(handler.terms)]
        named = {one.__module__ for one in classes} - {"builtins"}
        return {handler.module for handler in self.handlers} | named


def identifier(text: str) -> str:
    """Return a text as a name of Python."""
    found = re.sub(r"\W+", "_", text).strip("_").lower() or "job"
    return f"{found}_" if iskeyword(found) else found if found[0].isalpha() else f"job_{found}"


def _handler(one: PlannedHandler) -> str:
    call = _call("job", [_literal(one.type), *_keywords(one.terms)])
    return f"{one.variable} = {call}({one.module}.{one.function})"


def _schedule(one: PlannedSchedule) -> str:
    # Celery and django-q2 enqueue a run also while the one before goes on
    always = {"timezone": one.timezone, "overlap": "allow"}
    if not one.kwargs:
        args = {"args": list(one.args)} if one.args else {}
        named = {**always, "name": one.name.replace("_", "-"), **args, **one.terms}
        call = _call("periodic", [_literal(one.expression), *_keywords(named)])
        return f"{call}({one.variable})"
    periodic = _call("periodic", [_literal(one.expression), *_keywords(always)])
    options = f".{_call('options', _keywords(one.terms))}" if one.terms else ""
    call = _call("enqueue", [*map(_literal, one.args), *_keywords(one.kwargs)])
    return (
        f"\n@{periodic}\n@job({_literal(f'schedule.{one.name}')})\n"
        f"def {one.name}() -> None:\n    {one.variable}{options}.{call}"
    )


def _call(name: str, arguments: Sequence[str]) -> str:
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= WIDTH - 40:  # room for what stands before and behind the call
        return line
    return f"{name}(\n    " + ",\n    ".join(arguments) + ",\n)"


def _keywords(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_literal(value)}" for name, value in values.items()]


def _literal(value: Any) -> str:
    """Return a value in Python; a long dictionary has a line for each member."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case type():
            prefix = "" if value.__module__ == "builtins" else f"{value.__module__}."
            return f"{prefix}{value.__qualname__}"
        case tuple():
            return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case dict():
            members = [f"{_literal(key)}: {_literal(one)}" for key, one in value.items()]
            line = f"{{{', '.join(members)}}}"
            inner = ",\n        ".join(members)
            return line if len(line) <= WIDTH - 20 else f"{{\n        {inner},\n    }}"
        case _:
            return repr(value)


def _classes(terms: Mapping[str, Any]) -> list[type]:
    tuples = [value for value in terms.values() if isinstance(value, tuple)]
    return [one for value in tuples for one in value if isinstance(one, type)]
