"""Run statements on the cursor that is kept with a connection, or by libpq's own calls."""

import re
import select
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from time import perf_counter
from typing import Any

from django.db import Error as DjangoError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg import Error, OperationalError, adapters, errors
from psycopg.abc import Buffer
from psycopg.adapt import Loader, PyFormat, Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.types.string import TextLoader

from jobs import baton, bounds
from jobs.trips import Trip

KEPT, DIRECT = "ojs_cursor", "ojs_direct"
PLACE = re.compile(r"%\((\w+)\)s")
# 26000, 0A000: the statement is no longer prepared, or its columns have other types. 42883: migrate
# has just replaced a function that the statement calls. PostgreSQL has undone all effects.
OUTDATED = {"26000", "0A000", "42883"}
DONE = frozenset(map(int, (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)))
TIMESTAMPTZ, UUID = adapters.types["timestamptz"].oid, adapters.types["uuid"].oid


def cursor_of(mine: BaseDatabaseWrapper) -> CursorWrapper:
    """Return the cursor kept with a connection; a new one where statements are logged.

    Making a cursor took a tenth of the time that an enqueue spends in Python.
    """
    mine.close_if_health_check_failed()
    mine.ensure_connection()
    if mine.queries_logged:
        return _made(mine)
    raw = mine.connection
    kept: CursorWrapper | None = getattr(raw, KEPT, None)
    if kept is None:
        kept = _made(mine)
        setattr(raw, KEPT, kept)  # and is dropped with it
    return kept


def _made(mine: BaseDatabaseWrapper) -> CursorWrapper:
    cursor = mine.cursor()
    # for this cursor only: a job has up to seven times, and ids are passed on as text
    cursor.cursor.adapters.register_loader(TIMESTAMPTZ, _TimeLoader)
    cursor.cursor.adapters.register_loader(UUID, TextLoader)
    return cursor


class _TimeLoader(Loader):
    """Reads a timestamptz in a twentieth of the time that psycopg's own loader takes."""

    def load(self, data: Buffer) -> datetime:
        """Return the time in UTC, whatever the session's time zone is."""
        return _time(bytes(data))


@lru_cache(1024)  # the rows of a statement share most of their times
def _time(text: bytes) -> datetime:
    at = datetime.fromisoformat(text.decode())
    return at if at.tzinfo is UTC else at.astimezone(UTC)


def direct_of(kept: CursorWrapper) -> "Direct | None":
    """Return the direct path of a connection; None if it must not be used."""
    raw = kept.cursor.connection
    if (
        not raw.autocommit
        or raw.pgconn.transaction_status != TransactionStatus.IDLE
        or raw.prepare_threshold is None  # a pooler is between, or statements must not be prepared
        or kept.db.queries_logged
        or kept.db.execute_wrappers
    ):
        return None
    direct: Direct | None = getattr(raw, DIRECT, None)
    if direct is None:
        direct = Direct(kept)
        setattr(raw, DIRECT, direct)
    return direct


class Direct:
    """Prepares and runs statements by libpq's own calls.

    psycopg's cursor sends, waits and receives in generators of Python. At each step they release
    the interpreter and take it again, beside other threads that want it. This class makes one call,
    or a few calls in a thread that holds the baton. It is only for statements that are transactions
    by themselves. psycopg drops all prepared statements after a rollback. This class then prepares
    the statement again and repeats it.
    """

    def __init__(self, kept: CursorWrapper) -> None:
        """Begin with no prepared statement."""
        cursor = kept.cursor
        self._db = kept.db
        self._connection = cursor.connection
        self._transformer = Transformer(cursor)
        self._prepared: dict[str, tuple[bytes, tuple[str, ...]]] = {}
        self._number = 0
        self._arrives = select.poll()
        self._arrives.register(cursor.connection.fileno(), select.POLLIN)
        self._goes_on = select.poll()
        self._goes_on.register(cursor.connection.fileno(), select.POLLIN | select.POLLOUT)
        # of a cursor that counts its statements: ojs_project/database/cursors.py
        self._looked_after: Callable[[Callable[[], list[Any]]], list[Any]] = getattr(
            cursor, "direct", lambda run: run()
        )
        self._count: Callable[[float], None] = getattr(cursor, "count", _ignore)
        self._count_error: Callable[[Exception], None] = getattr(cursor, "count_error", _ignore)
        # of a connection with time bounds: ojs_project/database/guard.py
        line = cursor.connection
        self._begin_wait: Callable[[float | None], None] = getattr(line, "begin_wait", _ignore)
        self._end_wait: Callable[[], None] = getattr(line, "end_wait", lambda: None)
        self._lost: Callable[[str], Error] = getattr(line, "lost", OperationalError)

    def rows(self, text: str, params: Mapping[str, Any]) -> list[Any]:
        """Run a statement and return its rows. Raises Django's errors."""
        try:
            return self._looked_after(lambda: self._rows(text, params))
        except Error:
            with self._db.wrap_database_errors:
                raise

    def _rows(self, text: str, params: Mapping[str, Any]) -> list[Any]:
        with self._connection.lock:
            try:
                return self._loaded(self._run(text, params))
            except Error as problem:
                if problem.sqlstate not in OUTDATED:
                    raise
                self._prepared.pop(text, None)  # absent when preparing it failed
                return self._loaded(self._run(text, params))

    def begin_each(
        self, text: str, many: Sequence[Mapping[str, Any]]
    ) -> Trip[list[list[Any] | Exception | None]]:
        """Begin a statement for each of `many`, in one round trip, each a transaction by itself.

        The trip's result is the rows or Django's error of each. None: the statement was outdated,
        has changed nothing, and may run again. The connection is locked until the result is read.
        Raises Django's errors if the statements could not be sent.
        """
        lock = self._connection.lock
        lock.acquire()
        try:
            flight = self._sent(text, many)
        except BaseException as problem:
            lock.release()
            if isinstance(problem, Error):
                with self._db.wrap_database_errors:
                    raise
            raise
        return Trip(flight, lambda: self._found(text, flight)).at_end(lock.release)

    def _sent(self, text: str, many: Sequence[Mapping[str, Any]]) -> "_Flight":
        self._begin_wait(bounds.answer_s(getattr(self._connection, "most_s", None)))
        try:
            name, places = self._prepared.get(text) or self._prepare(text)
            self._send(name, [self._given(places, params) for params in many])
        except BaseException:
            self._end_wait()
            raise
        return _Flight(self._connection.pgconn, len(many), self._arrives)

    def _send(self, name: bytes, given: Sequence[Sequence[Any]]) -> None:
        line = self._connection.pgconn
        try:
            line.enter_pipeline_mode()
            for values in given:
                line.send_query_prepared(name, values)
                line.pipeline_sync()
            while line.flush():  # the server takes no more before it has sent answers
                baton.pass_on()
                self._goes_on.poll()
                line.consume_input()
        except BaseException:
            self._connection.close()
            raise

    def _found(self, text: str, flight: "_Flight") -> list[list[Any] | Exception | None]:
        try:
            flight.wait()
            line = self._connection.pgconn
            if line.status == ConnStatus.OK:
                line.exit_pipeline_mode()
        except BaseException:
            self._connection.close()  # answers may be missing
            raise
        finally:
            self._end_wait()
        found = [self._rows_or_error(text, flight, n) for n in range(flight.number)]
        for seconds in flight.seconds:
            self._count(seconds)
        return found

    def _rows_or_error(self, text: str, flight: "_Flight", n: int) -> list[Any] | Exception | None:
        try:
            if n >= len(flight.results):
                raise self._lost(flight.problem)
            return self._loaded(flight.results[n])
        except Error as problem:
            self._count_error(problem)
            if problem.sqlstate in OUTDATED:
                self._prepared.pop(text, None)
                return None
            try:
                with self._db.wrap_database_errors:
                    raise
            except DjangoError as refused:
                return refused

    def _loaded(self, result: PGresult) -> list[Any]:
        self._transformer.set_pgresult(self._checked(result))
        return self._transformer.load_rows(0, result.ntuples, tuple)

    def _run(self, text: str, params: Mapping[str, Any]) -> PGresult:
        name, places = self._prepared.get(text) or self._prepare(text)
        given = self._given(places, params)
        line = self._connection.pgconn
        if not baton.is_held():
            run: PGresult = line.exec_prepared(name, given)
            return run
        line.send_query_prepared(name, given)
        line.flush()
        if not self._arrives.poll(baton.SHORT_MS):
            baton.pass_on()
        result = self._next_result(line)
        while self._next_result(line) is not None:
            pass
        if result is None:
            raise OperationalError(line.get_error_message())
        return result

    def _given(self, places: Sequence[str], params: Mapping[str, Any]) -> Sequence[Any]:
        values = [params[place] for place in places]
        return self._transformer.dump_sequence(values, [PyFormat.TEXT] * len(values))

    def _next_result(self, line: PGconn) -> PGresult | None:
        """Return the next result when it has arrived.

        `get_result` alone would wait without releasing the interpreter.
        """
        while line.is_busy():
            self._arrives.poll()
            line.consume_input()
        return line.get_result()

    def _prepare(self, text: str) -> tuple[bytes, tuple[str, ...]]:
        baton.pass_on()  # libpq waits for the server
        places: dict[str, int] = {}
        sql = PLACE.sub(lambda found: f"${places.setdefault(found[1], len(places) + 1)}", text)
        self._number += 1
        name = b"ojs_%d" % self._number
        self._checked(self._connection.pgconn.prepare(name, sql.replace("%%", "%").encode()))
        self._prepared[text] = name, tuple(places)
        return self._prepared[text]

    def _checked(self, result: PGresult) -> PGresult:
        if result.status in DONE:
            return result
        if result.error_field(DiagnosticField.SQLSTATE) is None:  # libpq's own: no connection
            raise OperationalError(result.get_error_message())
        raise errors.error_from_result(result)


class _Flight:
    """Statements in libpq's pipeline mode: their results, in the order of the statements."""

    def __init__(self, line: PGconn, number: int, arrives: select.poll) -> None:
        """Take a line that `number` statements were sent on; `arrives` waits for it."""
        self.number = number
        self.results: list[PGresult] = []
        self.seconds: list[float] = []  # until each result, from the result before it
        self.problem = ""  # of the connection
        self._line, self._arrives = line, arrives
        self._result: PGresult | None = None
        self._since = perf_counter()

    def fileno(self) -> int:
        """Return the number of the socket."""
        return self._line.socket

    def is_over(self) -> bool:
        """Read what has arrived; True if no result is missing, or none can come."""
        try:
            self._line.consume_input()
            while len(self.results) < self.number:
                if self._line.is_busy():
                    return False
                self._take(self._line.get_result())
        except Error as problem:
            self.problem = str(problem)
        return True

    def _take(self, result: PGresult | None) -> None:
        if self._line.status != ConnStatus.OK:
            raise OperationalError(self._line.get_error_message())
        if result is None:  # the end of a statement's results; its PIPELINE_SYNC follows
            return
        if result.status != ExecStatus.PIPELINE_SYNC:
            self._result = result
            return
        if self._result is None:
            raise OperationalError("the answer has no result")
        now = perf_counter()
        self.results.append(self._result)
        self.seconds.append(now - self._since)
        self._result, self._since = None, now

    def wait(self) -> None:
        """Wait until it is over."""
        while len(self.results) < self.number and not self.problem and not self.is_over():
            baton.pass_on()
            self._arrives.poll()


def _ignore(_: object) -> None:
    """Do nothing: the connection is not of the product's engine."""
