"""Statements in files, run on the cursor that is kept with the connection."""

import contextlib
import os
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import DataError, OperationalError, ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext
from prometheus_client import REGISTRY

from jobs.fastpath.deferred_metrics import write_now
from jobs.statements import Statements

pytestmark = pytest.mark.usefixtures("store")

ID = "01a2007e-cde6-7e5b-ab4e-283f81822a2d"


@pytest.fixture
def statements(tmp_path: Path) -> Statements:
    """Return a folder of statements."""
    (tmp_path / "typed.sql").write_text(
        "-- a comment\nSELECT %(id)s::uuid, '2026-01-02 03:04:05+02'::timestamptz"
    )
    (tmp_path / "divide.sql").write_text("SELECT 1 / %(by)s::int")
    (tmp_path / "silent.sql").write_text("SET LOCAL work_mem = '4MB'")
    return Statements(tmp_path)


def typed(statements: Statements) -> Any:
    """Run the statement with an id and a time."""
    return statements.rows("typed", {"id": ID})


ROW = [(ID, datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC))]


def test_ids_are_text_and_times_are_in_utc(statements: Statements) -> None:
    assert typed(statements) == ROW
    assert typed(statements) == ROW


def test_the_next_connection_has_a_cursor_of_its_own(statements: Statements) -> None:
    typed(statements)
    connection.close()

    assert typed(statements) == ROW


def test_a_statement_that_failed_leaves_the_next_ones_alone(statements: Statements) -> None:
    with pytest.raises(DataError):
        statements.rows("divide", {"by": 0})

    assert statements.rows("divide", {"by": 1}) == [(1,)]
    assert typed(statements) == ROW


def test_a_statement_without_rows_returns_none(statements: Statements) -> None:
    typed(statements)

    assert statements.rows("silent", {}) == []


def test_statements_are_logged_where_django_logs_them(statements: Statements) -> None:
    typed(statements)

    with CaptureQueriesContext(connection) as captured:
        assert typed(statements) == ROW

    assert len(captured) == 1


# --- the hot path ---------------------------------------------------------------------------------


def hot(statements: Statements) -> Any:
    """Run the statement with an id and a time as a hot statement."""
    return statements.hot_rows("typed", {"id": ID})


def prepared() -> list[str]:
    """Return the names of prepared hot statements."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements WHERE name LIKE 'ojs%'")
        return [name for (name,) in cursor.fetchall()]


@pytest.fixture
def fresh() -> None:
    """Close the connection, so the test begins with a new one."""
    connection.close()


@pytest.mark.usefixtures("fresh")
def test_a_hot_statement_is_prepared_once_and_read_alike(statements: Statements) -> None:
    assert [hot(statements), hot(statements)] == [ROW, ROW]

    assert prepared() == ["ojs_1"]


def test_a_hot_statement_is_filled_with_its_parts(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "low.sql").write_text("-- low: a comment\n%(id)s::int AS low\n")
    (tmp_path / "filled.sql").write_text("SELECT /* bound */")
    statements = Statements(tmp_path)

    assert statements.hot_rows("filled", {"id": 7}, (("bound", "low"),)) == [(7,)]
    with transaction.atomic():
        assert statements.hot_rows("filled", {"id": 8}, (("bound", "low"),)) == [(8,)]


def test_a_hot_statement_without_a_value_gets_null(statements: Statements) -> None:
    assert statements.hot_rows("typed", {"id": None})[0][0] is None


UPGRADED = """
CREATE SEQUENCE ojs_test_calls;
CREATE FUNCTION hosts_upgraded() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('ojs_test_calls') <= current_setting('ojs.test_missing')::int THEN
        RAISE undefined_function;
    END IF;
    RETURN currval('ojs_test_calls');
END $$
"""


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[Statements]:
    """Return statements, one of which calls a function that `migrate` may have replaced."""
    (tmp_path / "called.sql").write_text(
        "SELECT hosts_upgraded() FROM set_config('ojs.test_missing', %(missing)s::text, true)"
    )
    with connection.cursor() as cursor:
        cursor.execute(UPGRADED)
        yield Statements(tmp_path)
        cursor.execute("DROP FUNCTION hosts_upgraded(); DROP SEQUENCE ojs_test_calls")


def test_a_hot_statement_whose_function_was_replaced_is_repeated_once(upgraded: Statements) -> None:
    assert upgraded.hot_rows("called", {"missing": "1"}) == [(2,)]

    with pytest.raises(ProgrammingError):
        upgraded.hot_rows("called", {"missing": "9"})


@pytest.mark.usefixtures("fresh")
def test_a_hot_statement_belongs_to_the_transaction_around_it(statements: Statements) -> None:
    with transaction.atomic():
        assert hot(statements) == ROW
        assert connection.connection.info.transaction_status.name == "INTRANS"

    assert prepared() == []


def test_a_hot_statement_is_prepared_anew_when_others_dropped_it(statements: Statements) -> None:
    hot(statements)
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")

    assert hot(statements) == ROW


def test_a_hot_statement_is_prepared_anew_when_its_table_changed(tmp_path: Path) -> None:
    (tmp_path / "all.sql").write_text("SELECT * FROM pg_temp.mine WHERE n > %(low)s::int")
    statements = Statements(tmp_path)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE mine AS SELECT 1 AS n")
        assert statements.hot_rows("all", {"low": 0}) == [(1,)]
        cursor.execute("ALTER TABLE mine ADD more text DEFAULT 'x'")

    assert statements.hot_rows("all", {"low": 0}) == [(1, "x")]
    connection.close()


def test_a_hot_statement_that_failed_leaves_the_next_ones_alone(statements: Statements) -> None:
    with pytest.raises(DataError, match="division by zero"):
        statements.hot_rows("divide", {"by": 0})

    assert statements.hot_rows("divide", {"by": 1}) == [(1,)]


def test_a_hot_statement_on_a_lost_connection_is_an_operational_error(
    statements: Statements,
) -> None:
    hot(statements)
    with connection.connection.__class__.connect(connection.connection.info.dsn) as other:
        other.execute(
            "SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid]
        )

    with pytest.raises(OperationalError):
        hot(statements)
    connection.close_if_unusable_or_obsolete()

    assert hot(statements) == ROW


def test_a_hot_statement_without_an_answer_is_an_operational_error(statements: Statements) -> None:
    hot(statements)
    with socket.socket(fileno=os.dup(connection.connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)

    with pytest.raises(OperationalError):
        hot(statements)
    connection.close_if_unusable_or_obsolete()

    assert hot(statements) == ROW


def test_hot_statements_are_logged_where_django_logs_them(statements: Statements) -> None:
    hot(statements)

    with CaptureQueriesContext(connection) as captured:
        assert hot(statements) == ROW

    assert len(captured) == 1


def test_hot_statements_pass_the_wrappers_of_their_connection(statements: Statements) -> None:
    seen: list[str] = []

    def wrapper(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        assert hot(statements) == ROW

    assert len(seen) == 1


def test_hot_statements_are_counted_as_others_are(statements: Statements) -> None:
    def counted() -> float:
        write_now()
        labels = {"alias": "default", "vendor": "postgresql"}
        return REGISTRY.get_sample_value("django_db_execute_total", labels) or 0.0

    hot(statements)
    before = counted()
    hot(statements)

    assert counted() == before + 1


# --- one round trip for several -------------------------------------------------------------------


def divide_each(statements: Statements, *divisors: int) -> list[Any]:
    """Run the statement that divides once for each divisor; errors appear as their class."""
    found = statements.begin_each("divide", [{"by": by} for by in divisors], connection).result()
    return [type(one) if isinstance(one, Exception) else one for one in found]


def test_each_statement_of_a_round_trip_has_its_own_rows(statements: Statements) -> None:
    expected = [[(1,)], [(-1,)], [(0,)]]

    assert divide_each(statements, 1, -1, 2) == expected
    assert divide_each(statements, 1, -1, 2) == expected
    assert divide_each(statements, 1) == [[(1,)]]


def test_more_statements_than_the_sockets_hold_are_one_round_trip(tmp_path: Path) -> None:
    (tmp_path / "long.sql").write_text("SELECT %(text)s::text")
    texts = [str(n) * 100_000 for n in range(10)] * 10

    found = (
        Statements(tmp_path)
        .begin_each("long", [{"text": text} for text in texts], connection)
        .result()
    )

    assert found == [[(text,)] for text in texts]


def test_a_failed_statement_of_a_round_trip_fails_alone(statements: Statements) -> None:
    assert divide_each(statements, 1, 0, 1) == [[(1,)], DataError, [(1,)]]
    assert divide_each(statements, 0, 0) == [DataError, DataError]
    assert statements.hot_rows("divide", {"by": 1}) == [(1,)]


def test_each_statement_of_a_round_trip_is_a_transaction(tmp_path: Path) -> None:
    (tmp_path / "stamp.sql").write_text("SELECT pg_current_xact_id()::text, %(n)s::int")

    found: Any = (
        Statements(tmp_path).begin_each("stamp", [{"n": n} for n in range(3)], connection).result()
    )

    assert [n for [(_, n)] in found] == [0, 1, 2]
    assert len({transaction_id for [(transaction_id, _)] in found}) == 3


def test_statements_of_a_round_trip_are_repeated_when_their_function_was_replaced(
    upgraded: Statements,
) -> None:
    found = upgraded.begin_each("called", [{"missing": "1"}, {"missing": "0"}], connection).result()

    assert found == [[(3,)], [(2,)]]


def test_statements_of_a_round_trip_are_prepared_anew(statements: Statements) -> None:
    divide_each(statements, 1, 1)
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")

    assert divide_each(statements, 1, 2) == [[(1,)], [(0,)]]


BROKEN = "SELECT pg_terminate_backend(pg_backend_pid()) WHERE %(is_last)s::bool"


def test_a_lost_connection_keeps_the_rows_that_arrived(tmp_path: Path) -> None:
    (tmp_path / "broken.sql").write_text(BROKEN)
    statements = Statements(tmp_path)

    found = statements.begin_each(
        "broken", [{"is_last": False}, {"is_last": True}, {"is_last": False}], connection
    ).result()

    assert found[0] == []
    assert [type(one) for one in found[1:]] == [OperationalError, OperationalError]
    connection.close_if_unusable_or_obsolete()
    assert statements.hot_rows("broken", {"is_last": False}) == []


def test_a_connection_that_was_lost_before_a_round_trip_is_an_operational_error(
    statements: Statements,
) -> None:
    divide_each(statements, 1, 1)
    with connection.connection.__class__.connect(connection.connection.info.dsn) as other:
        other.execute(
            "SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid]
        )

    with contextlib.suppress(OperationalError):
        assert divide_each(statements, 1, 1) == [OperationalError, OperationalError]
    connection.close_if_unusable_or_obsolete()

    assert divide_each(statements, 1, 1) == [[(1,)], [(1,)]]
