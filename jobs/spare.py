"""Connections that belong to no thread.

Threads that take turns at one statement take the connection that was used last: its backend has
the plan in its caches, and there are as many as statements at once, not as many as threads.
"""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

_idle: list[BaseDatabaseWrapper] = []  # the one used last is the last


@contextmanager
def borrowed() -> Iterator[BaseDatabaseWrapper]:
    """Lend a connection to this thread, in autocommit; it ends as Django's own would."""
    try:
        lent = _idle.pop()
    except IndexError:
        lent = connections.create_connection(DEFAULT_DB_ALIAS)
        lent.inc_thread_sharing()
    if _was_left(lent):
        lent.close()
    try:
        yield lent
    finally:
        lent.close_if_unusable_or_obsolete()
        _idle.append(lent)


def _was_left(lent: BaseDatabaseWrapper) -> bool:
    """Tell whether the server has ended a connection meanwhile, without asking it.

    It says so, or hangs up; nobody told it anything that it would answer otherwise.
    """
    raw = lent.connection
    if raw is None or raw.closed:
        return raw is not None
    if getattr(raw, "is_suspect", False):  # of ojs_project/database: the server stood still
        return True
    looked = select.poll()
    looked.register(raw.fileno(), select.POLLIN)
    return bool(looked.poll(0))


def close_spare() -> None:
    """Close those that nobody has."""
    while _idle:
        _idle.pop().close()


os.register_at_fork(after_in_child=_idle.clear)  # they are its parent's
