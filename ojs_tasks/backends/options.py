"""Options of jobs for tasks: the decorator `options`, and the rules for all places that take them.

    @task(queue_name="reports")
    @options(retry={"max_attempts": 5}, timeout=120)
    def render(month): ...

The decorator marks the function, so that the same code runs with every backend of the framework.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar, Unpack

from ojs_tasks.backends.compat import Task
from ojs_tasks.exceptions import UnknownTerm
from ojs_tasks.term_types import TaskTerms
from ojs_tasks.terms import with_terms

Decorated = TypeVar("Decorated")

MARK: Final = "__ojs_options__"  # attribute of a decorated function
# Terms that the framework has under its own names
OF_FRAMEWORK: Final = {
    "queue": "queue_name=… of @task or using",
    "priority": "priority=… of @task or using",
    "delay": "using(run_after=…)",
    "scheduled_at": "using(run_after=…)",
}


class Options(NamedTuple):
    """The options of a function; `type` None: the job type comes from its path."""

    type: str | None = None
    terms: Mapping[str, Any] = {}


NONE: Final = Options()


def options(
    *, type: str | None = None, **terms: Unpack[TaskTerms]
) -> Callable[[Decorated], Decorated]:
    """Give a task options of jobs, such as `retry`, `unique`, `timeout`, `tenant` and `version`.

    Write it below `@task`; above it there can be no `type`. Backends of other projects ignore it.
    Raises UnknownTerm, TypeError or ValueError for a wrong option.
    """
    apply({}, terms, type or "@options")

    def decorate(target: Decorated) -> Decorated:
        if not isinstance(target, Task):
            setattr(target, MARK, Options(type, terms))
            return target
        if type is not None:
            raise TypeError("@options with a type must be below @task")
        task: Any = target
        if hasattr(task, "terms"):  # a task of another project's backend has none
            task = replace(task, terms={**task.terms, **terms})
        decorated: Decorated = task
        return decorated

    return decorate


def of_function(function: Callable[..., Any]) -> Options:
    """Return the options that the decorator gave to a function."""
    found: Options = getattr(function, MARK, NONE)
    return found


def apply(members: Mapping[str, Any], terms: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return envelope members with terms applied, as `with_terms` does for handlers.

    Raises UnknownTerm, TypeError or ValueError; problems begin with `name`.
    """
    for term in terms:
        if term in OF_FRAMEWORK:
            raise UnknownTerm(f"{name}: {term!r} is no option of tasks: use {OF_FRAMEWORK[term]}")
    return with_terms(members, terms, name, of_call=False)
