"""Statements in files, run on the cursor that is kept with the connection."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import DataError, connection
from django.test.utils import CaptureQueriesContext

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
