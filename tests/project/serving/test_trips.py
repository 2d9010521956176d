"""Statements that requests share run while the server reads on: jobs/gather.py."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.utils import OperationalError

from jobs import connection_pool
from jobs.api.wire.media import SEND
from jobs.fastpath.application import LATER
from jobs.gather import Gathering, Later
from jobs.statements import Statements
from jobs.trips import Trip
from tests.processes import until
from tests.project.serving.conftest import THREADS, Connect, Line

pytestmark = pytest.mark.usefixtures("store")

GATE = 7_270_019  # key of the advisory lock that statements wait for
WAITING = "SELECT %(n)s::int * 10, pg_backend_pid() FROM pg_advisory_lock_shared(%(key)s::int)"
FREE = "SELECT %(n)s::int * 10, pg_backend_pid()"


class Road:
    """An application whose requests share a statement of their own path, /NAME/NUMBER."""

    def __init__(self, folder: Path) -> None:
        """Begin without a statement."""
        (folder / "waiting.sql").write_text(WAITING)
        (folder / "free.sql").write_text(FREE)
        self._statements = Statements(folder)
        self.begun: list[tuple[str, int]] = []
        self.gatherings: dict[str, Gathering[int, int]] = {
            "waiting": Gathering(self._beginning("waiting"), OperationalError),
            "free": Gathering(self._beginning("free"), OperationalError),
            "alone": Gathering(self._beginning("waiting"), most=1, at_once=1_000),
        }

    def _beginning(self, name: str) -> Callable[[Sequence[int]], Trip[list[int]]]:
        def begin(numbers: Sequence[int]) -> Trip[list[int]]:
            lent = connection_pool.lend()
            self.begun.append((name, len(numbers)))
            params = [{"n": n, "key": GATE} for n in numbers]
            trip = self._statements.begin_each(name, params, lent)
            return trip.at_end(lambda: connection_pool.give_back(lent)).then(_numbers)

        return begin

    def is_hot(self, environ: dict[str, Any]) -> bool:
        """Return whether no thread waits for the answer."""
        return bool(environ["PATH_INFO"] != "/at-once")

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        """Answer ten times the number."""
        if environ["PATH_INFO"] == "/at-once":
            start("200 OK", [])
            return [b"here"]
        _, name, number = environ["PATH_INFO"].split("/")

        def send(outcome: Callable[[], int]) -> None:
            try:
                environ[SEND]("200 OK", [], str(outcome()).encode())
            except OperationalError:
                environ[SEND]("503 Service Unavailable", [], b"lost")

        Later(self.gatherings[name], int(number), lambda outcome: outcome()).submit(send)
        return LATER


def _numbers(found: Sequence[list[Any] | Exception]) -> list[int]:
    for rows in found:
        if isinstance(rows, Exception):
            raise rows
    return [rows[0][0] for rows in found if not isinstance(rows, Exception)]


@pytest.fixture
def road(tmp_path: Path) -> Iterator[Road]:
    """Return the application."""
    yield Road(tmp_path)
    connection_pool.close_idle()


@pytest.fixture
def gate_of_statements(store: None) -> Iterator[psycopg.Connection[Any]]:
    """Return a connection that holds the lock; it closes after the test at the latest."""
    facts = connection.settings_dict
    with psycopg.connect(
        host=facts["HOST"], user=facts["USER"], dbname=facts["NAME"], autocommit=True
    ) as held:
        held.execute("SELECT pg_advisory_lock(%s)", [GATE])
        yield held


def waiting(held: psycopg.Connection[Any]) -> list[int]:
    """Return the backends that wait for the lock."""
    rows = held.execute(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted",
        [GATE],
    )
    return [pid for (pid,) in rows]


def body(line: Line) -> bytes:
    """Read one response and return its body."""
    return line.response()[2]


def test_a_statement_that_waits_takes_no_thread(
    serving: Connect, road: Road, gate_of_statements: psycopg.Connection[Any]
) -> None:
    site = serving(application=road)
    first = site().get("/waiting/1")
    until(lambda: len(waiting(gate_of_statements)) == 1)
    others = [site().get(f"/waiting/{n}") for n in range(2, 4 * THREADS)]

    assert body(site().get("/at-once")) == b"here"
    assert body(site().get("/free/5")) == b"50"

    gate_of_statements.close()
    assert body(first) == b"10"
    assert [body(line) for line in others] == [b"%d0" % n for n in range(2, 4 * THREADS)]


def test_only_so_many_statements_run_at_once(
    serving: Connect, road: Road, gate_of_statements: psycopg.Connection[Any]
) -> None:
    site = serving(application=road)
    lines = [site().get(f"/alone/{n}") for n in range(3 * THREADS)]
    until(lambda: len(waiting(gate_of_statements)) == THREADS)
    assert body(site().get("/at-once")) == b"here"

    assert len(road.begun) == THREADS
    gate_of_statements.close()

    assert [body(line) for line in lines] == [b"%d" % (n * 10) for n in range(3 * THREADS)]


def test_requests_of_a_lost_statement_get_its_error_and_the_next_are_answered(
    serving: Connect, road: Road, gate_of_statements: psycopg.Connection[Any]
) -> None:
    site = serving(application=road)
    line = site().get("/waiting/1")
    until(lambda: len(waiting(gate_of_statements)) == 1)

    (backend,) = waiting(gate_of_statements)
    gate_of_statements.execute("SELECT pg_terminate_backend(%s)", [backend])

    assert line.response()[::2] == (503, b"lost")
    gate_of_statements.close()
    assert body(line.get("/waiting/2")) == b"20"
    assert body(line.get("/free/3")) == b"30"


def test_requests_that_come_during_a_statement_share_the_next(
    serving: Connect, road: Road, gate_of_statements: psycopg.Connection[Any]
) -> None:
    site = serving(application=road)
    first = site().get("/waiting/1")
    until(lambda: len(waiting(gate_of_statements)) == 1)

    others = [site().get(f"/waiting/{n}") for n in (2, 3, 4)]
    assert body(site().get("/at-once")) == b"here"
    gate_of_statements.close()

    assert [body(line) for line in (first, *others)] == [b"10", b"20", b"30", b"40"]
    assert sum(number for _, number in road.begun) == 4
    assert len(road.begun) < 4


def test_a_server_that_stops_answers_the_statements_under_way(
    serving: Connect, road: Road, gate_of_statements: psycopg.Connection[Any]
) -> None:
    site = serving(application=road)
    line = site().get("/waiting/1")
    until(lambda: len(waiting(gate_of_statements)) == 1)

    gate_of_statements.close()
    site.stop()

    assert body(line) == b"10"
