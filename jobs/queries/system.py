"""Statistics, leader locks, clock and maintenance of the database."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models.functions import Now

from jobs.database import connection
from jobs.queries.base import begin_one, run, run_hot
from jobs.trips import Trip


def outgrown(tables: Sequence[str]) -> list[str]:
    """Return our tables that have more than doubled since they were analyzed."""
    return [row[0] for row in run("outgrown", {"tables": list(tables)})]


def analyze(tables: Sequence[str]) -> None:
    """Analyze our tables, except where another session is doing so."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE (SKIP_LOCKED) " + ", ".join(map(connection.ops.quote_name, tables)))


class Vitals(NamedTuple):
    """Numbers of queues and workers, and whether every loop ran lately."""

    queues: int
    paused: int
    workers: int
    alive: int
    ahead: list[str]  # workers whose clocks are ahead of this one, the first ones
    maintained_at: datetime | None  # since when; null: no maintenance is on
    maintenance: str | None  # the reason
    standing: list[str]  # loops that did not run lately
    loops: int
    ticked_at: datetime | None
    is_ticking: bool
    is_read_only: bool  # a standby answers, or a server that was fenced off


MAX_SKEW_MS = 60_000


def vitals(silence_ms: int, stale_ms: int) -> Vitals:
    """Return the health of the system; workers silent for `silence_ms` are not alive."""
    return Vitals(*run("vitals", _bounds(silence_ms, stale_ms))[0])


def begin_vitals(silence_ms: int, stale_ms: int) -> Trip[Vitals]:
    """Begin to read the health, as `vitals` does, on a connection of the pool."""
    trip = begin_one("vitals", _bounds(silence_ms, stale_ms))
    return trip.then(lambda rows: Vitals(*rows[0]))


def _bounds(silence_ms: int, stale_ms: int) -> dict[str, int]:
    return {"silence_ms": silence_ms, "stale_ms": stale_ms, "skew_ms": MAX_SKEW_MS}


def tick(*loops: str) -> None:
    """Store that loops ran."""
    run("tick", {"names": sorted(loops)})


class Look(NamedTuple):
    """A look at the database, see `look.sql`."""

    snapshot: str
    event: int
    version: int
    due_ms: int | None
    overdue_ms: int | None
    expiry_ms: int | None

    def is_as(self, other: "Look") -> bool:
        """Return whether no transaction that writes began or ended between two looks."""
        return self[:3] == other[:3]

    @property
    def oldest_id(self) -> int:
        """The oldest running transaction; the next one if none runs."""
        return int(self.snapshot.split(":")[0])

    @property
    def next_id(self) -> int:
        """The id that no transaction has yet."""
        return int(self.snapshot.split(":")[1])


def look() -> Look:
    """Look at the running transactions, the events, the configuration and due times."""
    return Look._make(run_hot("look", {})[0])


def take_id() -> None:
    """Begin and end a transaction with an id: events before it are complete then."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()")


def have_rows(wanted: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each group of tables whether one of them has a row."""
    quoted = [[connection.ops.quote_name(table) for table in tables] for tables in wanted]
    columns = (
        " OR ".join(f"EXISTS (SELECT FROM {table})" for table in tables) for tables in quoted
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(columns)}")
        return list(cursor.fetchone())


def reset(tables: Sequence[str]) -> None:
    """Delete everything but keys; `tables` are tables of extensions."""
    run("reset", {}, "".join(f", {connection.ops.quote_name(name)}" for name in tables))


def lead(key: int) -> bool:
    """Take the session lock of a loop, kept until this connection ends.

    From then on, the connection plans each prepared statement once: the parameters of loops hardly
    differ, and planning an aggregation takes as long as running it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_lock(20266604, %s),"
            " set_config('plan_cache_mode', 'force_generic_plan', false)",
            [key],
        )
        return bool(cursor.fetchone()[0])


def alone(key: int) -> bool:
    """Take a lock until the transaction ends; False if another transaction has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(20266610, %s)", [key])
        return bool(cursor.fetchone()[0])


def now() -> datetime:
    """Read the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        at: datetime = cursor.fetchone()[0]
        return at


def ago(ms: int) -> Any:
    """Return an expression for a time before the database's now."""
    return Now() - timedelta(milliseconds=ms)


def maintain(actor: str, reason: str | None, duration_ms: int | None, *, enabled: bool) -> None:
    """Switch maintenance on or off."""
    facts = {"actor": actor, "reason": reason, "duration_ms": duration_ms, "enabled": enabled}
    run("maintain", facts)


class Written(NamedTuple):
    """The end of the WAL of the database, in bytes, and the identity of this WAL."""

    written: int
    cluster: int
    timeline: int


class Replayed(NamedTuple):
    """The position of a hot standby in the same WAL; `replayed` None: the server is no standby."""

    replayed: int | None
    cluster: int
    timeline: int
    commit_age_ms: int | None  # None: nothing was replayed yet


def wal_written() -> Written:
    """Return the end of the WAL. Raises django.db.Error on a standby."""
    return Written(*run("wal_written", {})[0])


def wal_replayed() -> Replayed:
    """Return the position of the server that reads use now: see `jobs.database.reading_from`."""
    return Replayed(*run("wal_replayed", {})[0])
