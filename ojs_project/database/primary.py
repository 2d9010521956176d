"""Connect to the primary among several hosts, never to one that a failover has replaced.

A primary that was cut off from its cluster may accept writes again for a moment when it returns.
These writes are lost when it joins the cluster. Each failover begins a new timeline, so a primary
with an older timeline than another one has been replaced. A process remembers the newest timeline
that it has seen of each cluster.

This applies to URLs with several hosts and `target_session_attrs=read-write` or `primary`. A proxy
in front of the hosts has to choose the primary itself.
"""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Final

import psycopg
from psycopg.errors import ConnectionTimeout

from ojs_project.database.guard import Connection, NoAnswer, Outage

ASK_S: Final = 3  # for a connection to another host while this one does not answer
WRITABLE: Final = frozenset({"read-write", "primary"})
PLACE: Final = ("host", "hostaddr", "port")
# The timeline is 0 in recovery, where no WAL is written.
LINEAGE: Final = b"""
SELECT system_identifier, CASE WHEN pg_is_in_recovery() THEN 0 ELSE
       ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int END
  FROM pg_control_system()
"""

_last: dict[tuple[str, ...], int] = {}  # by the hosts of a URL: the position of the last primary


def connect(**params: Any) -> Connection:
    """Connect as psycopg does, but only to the primary with the newest timeline.

    The host of the last connection comes first. If it is no primary any more, and for the first
    connection of a process, all hosts are asked. Raises psycopg.OperationalError;
    ConnectionTimeout if a host did not answer.
    """
    if params.get("target_session_attrs") not in WRITABLE or "," not in _hosts(params):
        return Connection.connect(**params)
    key = tuple(str(params.get(name, "")) for name in PLACE)
    places = list(_places(params))
    found = _found(places, _last.get(key))
    best = max(found, key=lambda one: found[one].timeline)
    for position, made in found.items():
        if position != best:
            made.close()
    _last[key] = best
    found[best].look = partial(_look, key, places, best)
    return found[best]


def _look(key: tuple[str, ...], places: list[dict[str, Any]], mine: int) -> None:
    """Ask the hosts beside `mine`, which does not answer, whether one is the primary now."""
    for position, place in enumerate(places):
        if position != mine:
            with suppress(psycopg.OperationalError):
                _primary({**place, "connect_timeout": ASK_S}).close()
                _last[key] = position


def _found(places: list[dict[str, Any]], last: int | None) -> dict[int, Connection]:
    """Return primaries by position: the last one alone, or all if it is none any more."""
    found: dict[int, Connection] = {}
    problems: list[psycopg.OperationalError] = []
    for position in sorted(range(len(places)), key=lambda one: one != last):
        try:
            found[position] = _primary(places[position])
        except psycopg.OperationalError as problem:
            problems.append(problem)
        else:
            if position == last:
                return found
    if not found:
        raise _whole(problems)
    return found


def _hosts(params: dict[str, Any]) -> str:
    return str(params.get("host") or params.get("hostaddr") or "")


def _places(params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters for each host; one port counts for all hosts, as with libpq."""
    lists = {name: str(params[name]).split(",") for name in PLACE if params.get(name)}
    for position in range(len(_hosts(params).split(","))):
        chosen = {
            name: values[position if len(values) > 1 else 0] for name, values in lists.items()
        }
        yield {**params, **chosen}


def _primary(params: dict[str, Any]) -> Connection:
    """Connect to one host. Raises psycopg.OperationalError if it is not the newest primary."""
    made = Connection.connect(**params)
    made.bind(Outage(), None)
    with ExitStack() as undo:
        undo.callback(made.close)
        made.note_lineage(LINEAGE)
        if not made.is_replaced:
            undo.pop_all()
            return made
    raise NoAnswer(f"timeline {made.timeline}: a failover has replaced this primary")


def _whole(problems: list[psycopg.OperationalError]) -> psycopg.OperationalError:
    kind = next((type(one) for one in problems if isinstance(one, ConnectionTimeout)), None)
    lines = "\n".join(f"- {' '.join(str(one).split())}" for one in problems)
    return (kind or psycopg.OperationalError)(f"no primary among the hosts:\n{lines}")
