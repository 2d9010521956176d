"""Everything that an operator should look at now, of the core and of the extensions."""

from collections.abc import Iterator

from jobs import extensions
from jobs.domain.alerts import Alert
from jobs.queries import Vitals
from jobs.services.health import health


def alerts() -> list[Alert]:
    """Look; a fixed number of statements, none on a table that grows with the jobs.

    Those of the core come first: much else follows from a database or loops that are away.
    """
    found = [*_core()]
    for hook in extensions.having("alerts"):
        found += hook()
    return found


def _core() -> Iterator[Alert]:
    found = health()
    if found.is_slow:
        yield Alert("database_slow", "", f"The database takes {found.latency_ms} ms to answer.")
    now = found.vitals
    if now is None:  # the database is away, as whoever asks will learn
        return
    if now.maintained_at:
        why = f" {now.maintenance}" if now.maintenance else ""
        yield Alert("maintenance", "", f"Maintenance: no job starts.{why}", now.maintained_at)
    if not now.is_ticking:
        yield from _loops(now)
    if (now.workers - now.alive) * 2 > now.workers:
        yield Alert("workers_silent", "", "Most workers are silent.")


def _loops(now: Vitals) -> list[Alert]:
    """Name the loops that stand still; one alert where all do, or none was ever seen."""
    if len(now.standing) == now.loops:
        text = (
            "No loops have run lately: due jobs do not start and lost ones do not come back. "
            "Start manage.py runworker."
        )
        return [Alert("loops_away", "", text, now.ticked_at)]
    return [
        Alert("loop_stuck", name, f"The loop {name} does not get on.", now.ticked_at)
        for name in now.standing
    ]
