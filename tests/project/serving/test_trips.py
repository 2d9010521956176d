"""Statements that requests share run while the server reads on: jobs/gather.py."""

import contextlib
import errno
import os
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from django.db import connection
from django.db.utils import OperationalError

from jobs import baton, connection_pool, gather
from jobs.api.wire.media import SEND
from jobs.fastpath.application import LATER
from jobs.fastpath.statements import Direct, cursor_of, direct_of
from jobs.gather import MOST, Gathering, Later
from jobs.statements import Statements
from jobs.trips import Trip
from ojs_project.database import driver
from ojs_project.serving.events import Events
from ojs_project.serving.trips import Trips
from tests.concurrency import threads
from tests.processes import DEADLINE_S, until
from tests.project.serving.conftest import THREADS, Connect, Line, Site

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
        self.goes_on = threading.Event()  # ends the requests to /blocked
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
        return environ["PATH_INFO"] not in {"/at-once", "/blocked"}

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        """Answer ten times the number."""
        if environ["PATH_INFO"] == "/at-once":
            start("200 OK", [])
            return [b"here"]
        if environ["PATH_INFO"] == "/blocked":
            assert self.goes_on.wait(DEADLINE_S)
            start("200 OK", [])
            return [b"gone on"]
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
    made = Road(tmp_path)
    yield made
    made.goes_on.set()
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
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted AND"
        " database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        [GATE],
    )
    return [pid for (pid,) in rows]


def body(line: Line) -> bytes:
    """Read one response and return its body."""
    return line.response()[2]


def waited_for(site: Site, held: psycopg.Connection[Any]) -> Line:
    """Send the request /waiting/1, and return its connection when its statement waits."""
    line = site().get("/waiting/1")
    until(lambda: len(waiting(held)) == 1)
    return line


def test_a_statement_that_waits_takes_no_thread(
    serving: Connect, road: Road, gate_of_statements: psycopg.Connection[Any]
) -> None:
    site = serving(application=road)
    first = waited_for(site, gate_of_statements)
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
    line = waited_for(site, gate_of_statements)

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
    first = waited_for(site, gate_of_statements)

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
    line = waited_for(site, gate_of_statements)

    gate_of_statements.close()
    site.stop()

    assert body(line) == b"10"


def test_a_request_that_follows_on_its_connection_delays_no_answer_of_the_statement(
    serving: Connect,
    road: Road,
    gate_of_statements: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gather, "PATIENCE_S", DEADLINE_S)  # both requests share one statement
    site = serving(application=road)
    first = waited_for(site, gate_of_statements)
    pair = b"GET /waiting/2 HTTP/1.1\r\nHost: a\r\n\r\nGET /blocked HTTP/1.1\r\nHost: a\r\n\r\n"
    two = site().send(pair)
    until(lambda: len(road.gatherings["waiting"]._waiting) == 1)
    three = site().get("/waiting/3")
    until(lambda: len(road.gatherings["waiting"]._waiting) == 2)

    gate_of_statements.close()

    assert [body(line) for line in (first, two, three)] == [b"10", b"20", b"30"]
    road.goes_on.set()
    assert body(two) == b"gone on"
    assert road.begun == [("waiting", 1), ("waiting", 2)]


# --- the threads of a server ----------------------------------------------------------------------


class Open:
    """A line whose answer never comes."""

    def __init__(self) -> None:
        """Make a file descriptor that does not become readable."""
        self._number = os.eventfd(0)

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._number

    def is_over(self) -> bool:
        """Read nothing."""
        return False


class Ready:
    """An epoll instance with an event at any time."""

    def poll(self, _timeout: float, _most: int) -> list[tuple[int, int]]:
        """Return the event."""
        return [(0, 0)]


@pytest.fixture
def events() -> Iterator[Events]:
    """Return the events of a process whose trips are watched."""
    with contextlib.closing(select.epoll()) as epoll:
        gather.watch_by(Trips(epoll, THREADS))
        yield Events(cast("select.epoll", Ready()))
        gather.watch_by(None)


def begins(begun: list[list[int]]) -> Callable[[Sequence[int]], Trip[list[int]]]:
    """Return a function that begins trips whose answers never come, and records their items."""

    def begin(items: Sequence[int]) -> Trip[list[int]]:
        begun.append(list(items))
        return Trip(Open(), lambda: list(items))

    return begin


def test_a_statement_begins_even_if_further_requests_always_arrive(events: Events) -> None:
    begun: list[list[int]] = []
    Gathering(begins(begun)).submit(1, lambda _: None)
    baton.hold(lambda: None)

    for _ in range(MOST):
        assert events.next() == [0]
    assert events.next() == [0]

    baton.pass_on()
    assert begun == [[1]]


def test_items_of_a_thread_that_waits_for_the_baton_do_not_wait_longer_than_patience_lasts(
    events: Events,
) -> None:
    begun: list[list[int]] = []
    gathering = Gathering(begins(begun))
    gathering.submit(1, lambda _: None)
    gather.start_collected()
    events._baton.acquire()  # of a thread that waits for events, and none comes
    gathering.submit(2, lambda _: None)

    def work() -> None:
        events.next()
        baton.pass_on()

    with threads(1) as start:
        other = start(work)
        try:
            until(lambda: len(begun) == 2)
        finally:
            events._baton.release()
        other.result()

    assert begun == [[1], [2]]


def test_a_trip_that_gets_the_number_of_a_lost_connection_stays_watched() -> None:
    ended: list[str] = []
    trips = Trips(select.epoll(), 2)

    class Lost(Open):
        def is_over(self) -> bool:
            trips.watch(self, lambda: ended.append("new"))  # the system reuses the number
            return True

    line = Lost()
    trips.watch(line, lambda: ended.append("lost"))
    trips.go_on(line.fileno())

    assert (ended, line.fileno() in trips) == (["lost"], True)


def test_a_thread_waits_for_a_trip_that_cannot_be_watched() -> None:
    class Full:
        def modify(self, *_: int) -> None:
            raise OSError(errno.ENOSPC, "no watch is left")

    ended: list[str] = []
    full: Any = Full()
    trips, line = Trips(full, 1), Open()
    trips.watch(line, lambda: ended.append("over"))

    assert (ended, line.fileno() in trips) == (["over"], False)


# --- the baton ------------------------------------------------------------------------------------


def test_a_thread_that_connects_or_prepares_gives_the_baton_away(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[str] = []
    connect, held = driver.connect, list[bool]()

    def connected(**params: Any) -> Any:
        held.append(baton.is_held())
        return connect(**params)

    monkeypatch.setattr(driver, "connect", connected)
    baton.hold(lambda: passed.append("connects"))
    connection_pool.close_idle()
    lent = connection_pool.lend()
    kept = cursor_of(lent)
    assert (passed, held) == (["connects"], [False])

    direct = direct_of(kept)
    assert direct is not None
    bound: list[str] = []
    prepare = Direct._prepare

    def prepared(self: Direct, text: str) -> Any:
        bound.append("bound")
        return prepare(self, text)

    monkeypatch.setattr(direct, "_begin_wait", lambda _: bound.append("begin"))
    monkeypatch.setattr(direct, "_end_wait", lambda: bound.append("end"))
    monkeypatch.setattr(Direct, "_prepare", prepared)
    baton.hold(lambda: passed.append("prepares"))
    trip = direct.begin_each("SELECT %(n)s::int", [{"n": 1}])

    assert passed == ["connects", "prepares"]
    assert trip.result() == [[(1,)]]
    assert bound == ["begin", "bound", "end"]
    connection_pool.give_back(lent)
