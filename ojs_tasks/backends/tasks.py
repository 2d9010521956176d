"""`OJSTask`: a task of the framework whose function is registered as a handler of jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any, Self, Unpack

from ojs_tasks import registry
from ojs_tasks.arguments import joined
from ojs_tasks.backends.compat import AnyTask, normalize_json
from ojs_tasks.backends.names import type_of
from ojs_tasks.backends.options import apply, of_function
from ojs_tasks.backends.running import AsyncTaskHandler, TaskHandler, handler_for
from ojs_tasks.handlers import require_fit
from ojs_tasks.term_types import TaskTerms


@dataclass(frozen=True, kw_only=True)
class OJSTask(AnyTask):
    """A task that is stored as a job. Tasks are equal without regard to `terms`."""

    terms: Mapping[str, Any] = field(default_factory=dict, compare=False)  # by `using`

    def __post_init__(self) -> None:
        """Validate the task, and register its function. Raises InvalidTask or ValueError."""
        super().__post_init__()
        _register(self)

    @property
    def job_type(self) -> str:
        """The type of the task's jobs."""
        return of_function(self.func).type or type_of(self.module_path)

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        **terms: Unpack[TaskTerms],
    ) -> Self:
        """Return the task with other settings, and with options of jobs.

        Raises InvalidTask, and UnknownTerm, TypeError or ValueError for a wrong option.
        """
        apply({}, terms, self.job_type)
        changed: dict[str, Any] = {
            "priority": priority, "queue_name": queue_name, "run_after": run_after,
            "backend": backend,
        }  # fmt: skip
        given = {name: value for name, value in changed.items() if value is not None}
        return replace(self, **given, terms={**self.terms, **terms})

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the JSON arguments of a call.

        Raises TypeError for arguments that the function does not accept, or that are no JSON.
        """
        context = [None] if self.takes_context else []
        require_fit(self.func, self.job_type, [*context, *args], kwargs)
        positions: Any = normalize_json(args)
        keywords: Any = normalize_json(kwargs)
        return joined(positions, keywords)

    def members(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the envelope members that options set: of the backend, function and call."""
        members = apply(defaults, of_function(self.func).terms, self.job_type)
        return apply(members, self.terms, self.job_type)


def _register(task: OJSTask) -> None:
    """Register the function once; a module that is loaded again replaces it."""
    for handler in registry.of_type(task.job_type):
        if (
            isinstance(handler, TaskHandler | AsyncTaskHandler)
            and handler.task.module_path == task.module_path
        ):
            if handler.task.func is not task.func:
                handler.task = task
            return
    registry.register(handler_for(task, task.job_type))


def task_of(job_type: str) -> AnyTask | None:
    """Return the task with this job type; None if the modules of this project have none.

    The first unknown type imports the modules of installed apps. No other module is imported.
    """
    found = _registered(job_type)
    if found is None:
        _discover()
        found = _registered(job_type)
    return found


@cache
def _discover() -> None:
    registry.discover()


def _registered(job_type: str) -> AnyTask | None:
    handlers = registry.of_type(job_type)
    found = (one.task for one in handlers if isinstance(one, TaskHandler | AsyncTaskHandler))
    return next(found, None)
