"""The connection pool: connections that no thread owns.

Threads that run the same statement in turn take the connection that was used last: its backend has
the plan in its caches. There are as many connections as concurrent statements, not as many as
threads.
"""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs.conf import conf
from jobs.database import new_connection, thread_connection

# The statements of these connections find their rows by indexes, whatever the parameters are. A
# plan per call would take longer than the statement. A plan made for empty tables must not stay.
PLANNED_ONCE: Final = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off"

_idle: list[BaseDatabaseWrapper] = []  # the most recently used is the last


def lend() -> BaseDatabaseWrapper:
    """Lend a connection, in autocommit; the borrower calls `give_back`."""
    try:
        lent = _idle.pop()
    except IndexError:
        lent = _made()
    if _was_left(lent):
        lent.close()
    return lent


def give_back(lent: BaseDatabaseWrapper) -> None:
    """Take a connection back; it is closed by Django's own rules."""
    lent.close_if_unusable_or_obsolete()
    _idle.append(lent)


@contextmanager
def borrowed() -> Iterator[BaseDatabaseWrapper]:
    """Lend a connection to this thread, in autocommit."""
    lent = lend()
    try:
        yield lent
    finally:
        give_back(lent)


def is_usable() -> bool:
    """Return whether this thread may run a statement on a connection of the pool.

    Not within a transaction, whose rows other connections do not see. Where connections end with
    each request, the pool would have to connect anew.
    """
    mine = thread_connection()
    keeps = mine.settings_dict["CONN_MAX_AGE"] is None
    return keeps and conf().gather_enqueues and not mine.in_atomic_block


def _made() -> BaseDatabaseWrapper:
    made = new_connection()
    made.inc_thread_sharing()
    given = made.settings_dict
    if not given["DISABLE_SERVER_SIDE_CURSORS"]:  # a transaction-mode pooler refuses options
        options = f"{given['OPTIONS'].get('options', '')} {PLANNED_ONCE}".strip()
        made.settings_dict = {**given, "OPTIONS": {**given["OPTIONS"], "options": options}}
    return made


def _was_left(lent: BaseDatabaseWrapper) -> bool:
    """Return whether the server has ended an idle connection, without a query.

    An idle connection has no unread data: data is the server's message of the end, or a hang-up.
    """
    raw = lent.connection
    if raw is None or raw.closed:
        return raw is not None
    if getattr(raw, "is_suspect", False):  # of ojs_project/database: the server stood still
        return True
    looked = select.poll()
    looked.register(raw.fileno(), select.POLLIN)
    return bool(looked.poll(0))


def close_idle() -> None:
    """Close the idle connections."""
    while _idle:
        _idle.pop().close()


os.register_at_fork(after_in_child=_idle.clear)  # they are its parent's
