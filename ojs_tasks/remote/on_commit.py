"""Enqueue after the commit of Django's current transaction: `OJS["ENQUEUE_ON_COMMIT"]`."""

from collections.abc import Callable, Iterable
from typing import Any


class Deferred:
    """Jobs that are sent when the transaction commits; a rollback forgets them."""

    def __init__(self, ids: Iterable[str], send: Callable[[], object]) -> None:
        """Keep the ids of the jobs, for `is_deferred`."""
        self.ids = frozenset(ids)
        self._send = send

    def __call__(self) -> None:
        """Send the jobs."""
        self._send()


def is_in_transaction() -> bool:
    """Return whether this thread is in a transaction of the default database."""
    connection = _connection()
    return connection is not None and connection.in_atomic_block


def defer(deferred: Deferred) -> None:
    """Send jobs after the commit. An error of the server reaches the code that commits."""
    from django.db import transaction  # noqa: PLC0415 - optional

    transaction.on_commit(deferred)


def is_deferred(job_id: str) -> bool:
    """Return whether a job waits for the commit of this thread's transaction."""
    connection = _connection()
    waiting = () if connection is None else connection.run_on_commit
    return any(isinstance(one, Deferred) and job_id in one.ids for _, one, *_ in waiting)


def _connection() -> Any:
    """Return this thread's connection of the default database; None without Django settings."""
    try:
        from django.conf import settings  # noqa: PLC0415 - optional
        from django.db import transaction  # noqa: PLC0415
    except ImportError:
        return None
    return transaction.get_connection() if settings.configured else None
