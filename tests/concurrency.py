"""Threads with connections of their own, and waits for states of the database."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from django.db import connection

from jobs.services.record.aggregate import aggregate_events

T = TypeVar("T")
DEADLINE_S = 30.0
OTHERS_DEADLINE_S = 180.0  # until the transactions of tests in other databases have ended


@contextmanager
def threads(number: int) -> Iterator[Callable[[Callable[[], T]], "Future[T]"]]:
    """Return a function that starts work in a thread; its connection is closed after the work."""

    def closing(work: Callable[[], T]) -> T:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(number) as pool:
        yield lambda work: pool.submit(closing, work)


def at_once(works: Iterable[Callable[[], T]]) -> list[T]:
    """Run all works in threads and return their results in order."""
    todo = list(works)
    with threads(len(todo)) as start:
        return [future.result() for future in [start(work) for work in todo]]


def until(check: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
    """Repeat a check of the database until it is true; fail after the deadline."""
    end = monotonic() + deadline_s
    while not check():
        assert monotonic() < end, "it did not happen"


def wait_until_blocked(number: int = 1) -> None:
    """Wait until at least this number of other connections of this database wait for a lock."""

    def is_blocked() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # cached in a transaction
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'"
            )
            return bool(cursor.fetchone()[0] >= number)

    until(is_blocked)


def wait_until_old_rows_are_dead() -> None:
    """Wait until no transaction of the cluster is older than the writes so far.

    From then on, index scans skip the entries of replaced rows. A transaction in another database
    delays this, because sessions look again only when their snapshots move on. In this database, no
    session may hold an older snapshot, not even a worker that gathers statistics.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text")
        now = cursor.fetchone()[0]

    def is_oldest() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_snapshot_xmin(pg_current_snapshot()) > %(now)s::text::xid8"
                " AND NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a"
                " WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()"
                " AND age(a.backend_xmin) >= age(%(now)s::text::xid8::xid))",
                {"now": now},
            )
            return bool(cursor.fetchone()[0])

    until(is_oldest, OTHERS_DEADLINE_S)


def wait_until_complete() -> None:
    """Wait until no transaction of the cluster can add an event before the last event.

    Readers of the record and the aggregation stop at the oldest running transaction of any
    database.
    """

    def is_complete() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT coalesce((SELECT max(stamp) FROM ojs_event)"
                " < pg_snapshot_xmin(pg_current_snapshot()), true)"
            )
            return bool(cursor.fetchone()[0])

    until(is_complete, OTHERS_DEADLINE_S)


def aggregate_all() -> None:
    """Aggregate the events of the store, once no transaction of the cluster holds them back."""
    wait_until_complete()
    aggregate_events(100_000)
