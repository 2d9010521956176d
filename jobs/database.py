"""The database of the jobs: `OJS["DATABASE"]` names its alias.

A host project may keep its own tables in another database. So these apps take connections and
transactions from this module instead of `django.db`, whose default is the host's database. Queries
of models follow `jobs/database_router.py`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, cast

from django.contrib.auth import get_user_model
from django.db import connections, router
from django.db import transaction as of_django  # noqa: TID251 - the only use
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic  # noqa: TID251 - its type

from jobs.conf import conf


@dataclass(frozen=True, slots=True)
class _Reading:
    """A block whose reads go to another database."""

    alias: str
    is_in_transaction: bool  # of the database of the jobs, which began before the block


_reading: ContextVar[_Reading | None] = ContextVar("reading", default=None)


def alias() -> str:
    """Return the alias of the database of the jobs."""
    return conf().database


def reading_alias() -> str:
    """Return the alias that reads of this thread use now: see `reading_from`."""
    main, reading = conf().database, _reading.get()
    if reading is None or (connections[main].in_atomic_block and not reading.is_in_transaction):
        return main
    return reading.alias


@contextmanager
def reading_from(other: str | None) -> Iterator[None]:
    """Let the reads of this thread use another alias, a replica; None: the database of the jobs.

    Writes of models and transactions stay in the database of the jobs. A transaction that begins
    within the block reads there, too: it must see its own changes.
    """
    is_in_transaction = connections[conf().database].in_atomic_block
    before = _reading.set(None if other is None else _Reading(other, is_in_transaction))
    try:
        yield
    finally:
        _reading.reset(before)


def thread_connection() -> BaseDatabaseWrapper:
    """Return this thread's connection to the database of the jobs."""
    return connections[reading_alias()]


def new_connection() -> BaseDatabaseWrapper:
    """Return another connection, which belongs to the caller."""
    return connections.create_connection(conf().database)


def new_direct_connection() -> BaseDatabaseWrapper:
    """Return another connection past any pooler, for LISTEN, settings and long locks."""
    return connections.create_connection(conf().direct_database)


def bypass_pooler() -> None:
    """Let all threads of this process connect past any pooler, from their next connection on."""
    connections.settings[conf().database] = connections.settings[conf().direct_database]


def atomic() -> Atomic:
    """Return a transaction, or a savepoint within one, as `django.db.transaction.atomic` does."""
    return of_django.atomic(using=conf().database)


@contextmanager
def atomic_with_users() -> Iterator[None]:
    """Begin a transaction for changes of users' tables, which another database may have.

    Then each database has a transaction of its own. The transaction here commits first: after a
    crash between the commits, the audit log names a change that the users' tables lack.
    """
    users = users_alias()
    with ExitStack() as stack:
        if users != conf().database:
            stack.enter_context(of_django.atomic(using=users))
        stack.enter_context(atomic())
        yield


def users_alias() -> str:
    """Return the alias of the database that has the users of the host project."""
    return router.db_for_write(get_user_model())


def on_commit(run: Callable[[], object], *, robust: bool = False) -> None:
    """Call a function after the commit of the current transaction; at once without one.

    `robust`: log its exceptions instead of raising them.
    """
    of_django.on_commit(run, using=conf().database, robust=robust)


def set_rollback(is_wanted: bool) -> None:  # noqa: FBT001 - Django's signature
    """Set whether the innermost atomic block rolls back at its end."""
    of_django.set_rollback(is_wanted, using=conf().database)


class _ThreadConnection:
    """The connection of the thread that uses it."""

    __slots__ = ("_alias",)

    def __init__(self, alias: Callable[[], str]) -> None:
        """Look up the alias for each use."""
        object.__setattr__(self, "_alias", alias)

    def __getattr__(self, name: str) -> Any:
        return getattr(connections[self._alias()], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(connections[self._alias()], name, value)


connection: Final = cast("BaseDatabaseWrapper", _ThreadConnection(reading_alias))
main_connection: Final = cast("BaseDatabaseWrapper", _ThreadConnection(alias))  # never a replica
