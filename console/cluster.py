"""The queue of operator tasks, which only accepts and hands out functions of the permit table.

django-q2 runs any function that a queued task names. `Q_CLUSTER` names this queue. It refuses a
task of another function at the enqueue, and again when the cluster fetches it, because a row may
bypass the queue.
"""

import logging
from time import monotonic
from typing import Any, Final

from django_q.brokers.orm import ORM
from django_q.signing import BadSignature, SignedPackage
from django_q.tasks import async_task

from jobs.domain.access.caller import Caller
from jobs.permits import table
from jobs.services.audit.audit import record

logger = logging.getLogger("ojs.console")
TEND: Final = "console.operations.tend"
TEND_S: Final = 60.0
SIGN_S: Final = 5  # between signs of life
SIGNS: Final = 2  # that may be late
# without hook, chain and synchronous call, each of which would run another function
MEMBERS: Final = frozenset(
    {"id", "name", "func", "args", "kwargs", "started", "group", "save", "timeout", "ack_failure"}
)
UNREADABLE: Final = (BadSignature, TypeError, ValueError, AttributeError, ImportError)


class TaskRefused(ValueError):
    """The task is no operator task."""


class Tasks(ORM):  # type: ignore[misc]  # ships no types
    """The table of tasks of django-q2, limited to operator tasks."""

    tend_at = 0.0
    sign_at = 0.0

    def set_stat(self, key: str, value: str, timeout: int) -> None:
        """Store a sign of life, for a longer time and less often: each one is a transaction."""
        if monotonic() >= self.sign_at:
            self.sign_at = monotonic() + SIGN_S
            super().set_stat(key, value, timeout + SIGNS * SIGN_S)

    def enqueue(self, task: str) -> Any:
        """Queue a signed task. Raises TaskRefused."""
        require_operator_task(SignedPackage.loads(task))
        return super().enqueue(task)

    def dequeue(self) -> list[tuple[Any, str]]:
        """Return the next tasks; remove and record each refused task."""
        if monotonic() >= self.tend_at:
            self.tend_at = monotonic() + TEND_S
            async_task(TEND, broker=self, save=False)
        return [(key, task) for key, task in super().dequeue() or () if self._takes(key, task)]

    def _takes(self, key: Any, task: str) -> bool:
        try:
            require_operator_task(SignedPackage.loads(task))
        except UNREADABLE as problem:
            self.fail(key)
            why = str(problem)[:200]
            record(Caller("qcluster"), "operator_task.refused", f"task {key}", outcome="denied",
                   data={"problem": why})  # fmt: skip
            logger.warning("operator_task.refused", extra={"task": key, "problem": why})
            return False
        return True


def require_operator_task(task: dict[str, Any]) -> None:
    """Refuse a task of a function that is not in the table. Raises TaskRefused."""
    function = task.get("func")
    if not isinstance(function, str) or function not in table().tasks:
        raise TaskRefused(f"{function!r} is no function of an operator task")
    if others := task.keys() - MEMBERS:
        raise TaskRefused(f"an operator task has no {', '.join(sorted(others))}")
