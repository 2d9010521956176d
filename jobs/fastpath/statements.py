"""Run statements on the cursor that is kept with a connection, or by libpq's own calls."""

import re
import select
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from time import monotonic
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

from jobs import baton

KEPT, DIRECT = "ojs_cursor", "ojs_direct"
PLACE = re.compile(r"%\((\w+)\)s")
# 26000, 0A000: the statement is no longer prepared, or its plan has lost its shape. 42883: migrate
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
    the interpreter and take it again, beside other threads that want it. This class makes one call.
    It is only for statements that are transactions by themselves: psycopg drops all prepared
    statements after a rollback, and a dropped statement is prepared again and repeated here.
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
        # of a cursor that counts its statements: jobs/fastpath/cursors.py
        self._looked_after: Callable[[Callable[[], list[Any]]], list[Any]] = getattr(
            cursor, "direct", lambda run: run()
        )

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

    def rows_each(
        self, text: str, many: Sequence[Mapping[str, Any]]
    ) -> list[list[Any] | Exception | None]:
        """Run a statement for each of `many` in one round trip, each a transaction by itself.

        Returns the rows or Django's error of each. None: the statement was outdated, has changed
        nothing, and may run again. Raises Django's errors if the statements could not be sent.
        """
        try:
            with self._connection.lock:
                return self._each(text, many)
        except Error:
            with self._db.wrap_database_errors:
                raise

    def _each(
        self, text: str, many: Sequence[Mapping[str, Any]]
    ) -> list[list[Any] | Exception | None]:
        line = self._connection.pgconn
        name, places = self._prepared.get(text) or self._prepare(text)
        given = [self._given(places, params) for params in many]
        line.enter_pipeline_mode()
        try:
            for values in given:
                line.send_query_prepared(name, values)
                line.pipeline_sync()
            while line.flush():  # the server takes no more before it has sent answers
                self._goes_on.poll()
                line.consume_input()
            until = monotonic() + baton.SHORT_MS / 1000
            found = [self._rows_of_next(text, line, until) for _ in many]
            if line.status == ConnStatus.OK:
                line.exit_pipeline_mode()
        except BaseException:
            self._connection.close()  # answers may be missing
            raise
        return found

    def _rows_of_next(self, text: str, line: PGconn, until: float) -> list[Any] | Exception | None:
        try:
            return self._looked_after(lambda: self._loaded(self._received(line, until)))
        except Error as problem:
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

    def _received(self, line: PGconn, until: float) -> PGresult:
        """Return the result of the next statement in a pipeline; pass the baton on at `until`."""
        if line.is_busy() and baton.is_held():
            left_ms = max(0, int((until - monotonic()) * 1000))
            if not self._arrives.poll(left_ms):
                baton.pass_on()
        result: PGresult | None = self._next_result(line)
        while result is not None and line.status == ConnStatus.OK:
            following = self._next_result(line)
            if following is not None and following.status == ExecStatus.PIPELINE_SYNC:
                return result
        raise OperationalError(line.get_error_message())

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
        """Return the next result when it has arrived; libpq itself would wait with the lock."""
        while line.is_busy():
            self._arrives.poll()
            line.consume_input()
        return line.get_result()

    def _prepare(self, text: str) -> tuple[bytes, tuple[str, ...]]:
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
