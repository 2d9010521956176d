"""The ends of jobs that a listener of this process waits for; on the listener's connection."""

from collections.abc import Collection

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs.domain.outcome.awaited import Look
from jobs.queries.base import array, run_hot


def await_begin(ids: Collection[str], listener: str, keep_ms: int, on: BaseDatabaseWrapper) -> None:
    """Have the ends of jobs notified to listeners, from now on and for `keep_ms`."""
    run_hot("await_begin", {"ids": array(ids), "listener": listener, "keep_ms": keep_ms}, on=on)


def await_look(ids: Collection[str], on: BaseDatabaseWrapper) -> list[Look]:
    """Return whether jobs have ended; jobs that are not visible are left out."""
    return [Look(*row) for row in run_hot("await_look", {"ids": array(ids)}, on=on)]


def await_end(ids: Collection[str], listener: str, on: BaseDatabaseWrapper) -> None:
    """End the notifications of these jobs to this listener."""
    run_hot("await_end", {"ids": array(ids), "listener": listener}, on=on)
