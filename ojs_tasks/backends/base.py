"""`OJSBackend`: the base of both backends. Each names its server and its options."""

import secrets
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from time import time_ns
from typing import Any, ClassVar, Final
from uuid import UUID

from django.core.checks import CheckMessage
from django.db import transaction
from django.utils import timezone

from ojs_tasks.backends import checks, results
from ojs_tasks.backends.compat import (
    AnyResult,
    AnyTask,
    BaseTaskBackend,
    TaskException,
    TaskResultDoesNotExist,
    task_enqueued,
)
from ojs_tasks.backends.options import apply
from ojs_tasks.backends.tasks import OJSTask, task_of
from ojs_tasks.exceptions import JobNotFound
from ojs_tasks.server import Draft, Server, Snapshot
from ojs_tasks.times import moment

ONCE: Final = {"retry": {"max_attempts": 1}}  # the framework's tasks do not run again by themselves


class TaskDropped(TaskException):
    """Enqueue middleware of the server dropped the task: there is no job."""


class OJSBackend(BaseTaskBackend):
    """A backend of Django's Tasks framework that stores tasks as jobs of an OJS server."""

    task_class = OJSTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True
    own_options: ClassVar[frozenset[str]] = frozenset()  # options that are no options of jobs

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        """Read the settings; `check` reports their problems."""
        super().__init__(alias, params)
        self._given = params
        self._at_commit = bool(params.get("ENQUEUE_ON_COMMIT", False))

    @property
    @abstractmethod
    def server(self) -> Server:
        """The server of the jobs."""

    @cached_property
    def members(self) -> dict[str, Any]:
        """The envelope members of every task. Raises UnknownTerm, TypeError or ValueError."""
        terms = {name: one for name, one in self.options.items() if name not in self.own_options}
        return apply(apply({}, ONCE, self.alias), terms, self.alias)

    def enqueue(self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Store a task as a job, in the caller's transaction if the server is local.

        With ENQUEUE_ON_COMMIT the job is stored after the commit. Raises InvalidTask, TypeError for
        arguments that are no JSON or do not fit the function, TaskDropped, and the server's errors.
        """
        draft = self._draft(task, args, kwargs)
        if self._waits_for_commit(task):
            return self._enqueue_at_commit(task, draft)
        shown = self.server.enqueue([draft])[0]
        result = self._stored(task, shown)
        if _is_new(shown):
            task_enqueued.send(type(self), task_result=result)
        return result

    async def aenqueue(self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Store a task as `enqueue` does, without blocking the event loop."""
        if self._waits_for_commit(task):
            return await super().aenqueue(task, args, kwargs)  # type: ignore[arg-type]
        draft = self._draft(task, args, kwargs)
        shown = (await self.server.aenqueue([draft]))[0]
        result = self._stored(task, shown)
        if _is_new(shown):
            await task_enqueued.asend(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> AnyResult:
        """Return the result of a task. Raises TaskResultDoesNotExist, also for other jobs."""
        try:
            shown = self.server.read(str(result_id))
        except JobNotFound as problem:
            raise TaskResultDoesNotExist(result_id) from problem
        return self._found(shown)

    async def aget_result(self, result_id: str) -> AnyResult:
        """Return the result of a task, as `get_result` does."""
        try:
            shown = await self.server.aread(str(result_id))
        except JobNotFound as problem:
            raise TaskResultDoesNotExist(result_id) from problem
        return self._found(shown)

    def check(self, **_kwargs: Any) -> list[CheckMessage]:
        """Return the problems of the settings of this backend."""
        return [
            *checks.of_keys(self.alias, self._given),
            *checks.of_queues(self.alias, self.queues),
            *checks.of_options(self),
        ]

    def _draft(self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Draft:
        self.validate_task(task)
        if not isinstance(task, OJSTask):  # it was made for another backend
            task = OJSTask(
                func=task.func, priority=task.priority, backend=self.alias,
                queue_name=task.queue_name, run_after=task.run_after,
                takes_context=task.takes_context,
            )  # fmt: skip
        draft = {
            **task.members(self.members),
            "type": task.job_type,
            "queue": task.queue_name,
            "priority": int(task.priority),
            "args": task.bind(args, kwargs),
        }
        if task.run_after is not None:
            at = task.run_after
            draft["scheduled_at"] = moment(
                timezone.make_aware(at) if timezone.is_naive(at) else at, "run_after"
            )
        return draft

    def _waits_for_commit(self, task: AnyTask) -> bool:
        """Return whether the job is stored at the commit; a task may decide it in some releases."""
        chosen = getattr(task, "enqueue_on_commit", None)
        return self._at_commit if chosen is None else bool(chosen)

    def _enqueue_at_commit(self, task: AnyTask, draft: Draft) -> AnyResult:
        planned = {**draft, "id": _new_id()}
        shown = Snapshot(
            planned["id"], draft["type"], draft["queue"], "available", args=draft["args"]
        )
        result = results.result_of(shown, task)

        def store() -> None:
            shown = self.server.enqueue([planned])[0]
            stored = self._stored(task, shown)
            object.__setattr__(result, "id", stored.id)  # that of an equal job, if it is unique
            object.__setattr__(result, "enqueued_at", stored.enqueued_at)
            if _is_new(shown):
                task_enqueued.send(type(self), task_result=result)

        transaction.on_commit(store)
        return result

    def _stored(self, task: AnyTask, shown: Snapshot | None) -> AnyResult:
        if shown is None:
            raise TaskDropped(f"enqueue middleware dropped the task {task.module_path}")
        return results.result_of(shown, task)

    def _found(self, shown: Snapshot) -> AnyResult:
        task = task_of(shown.type)
        if task is None:
            raise TaskResultDoesNotExist(shown.id)
        return results.result_of(shown, results.restored(task, shown, self.alias))


def _is_new(shown: Snapshot | None) -> bool:
    """Return whether the job is no earlier one that a unique policy found."""
    return shown is not None and not shown.deduplicated


def _new_id() -> str:
    """Return a new UUIDv7: milliseconds, then random bits."""
    bits = (time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | 7 << 76  # version
    return str(UUID(int=bits & ~(3 << 62) | 2 << 62))  # variant
