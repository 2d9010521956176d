"""Statements of the last release work with the tables and functions of this release."""

import re
from itertools import product
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import DiagnosticField, ExecStatus

pytestmark = pytest.mark.xdist_group("upgrade")  # one process makes the databases

PLACE = re.compile(r"%\((\w+)\)s")
MARK = re.compile(r"/\* ([a-z ]+) \*/")
FEW_MARKS = 2
NO_STATEMENTS = {"functions", "parts"}  # folders
# indeterminate or ambiguous parameter types; the driver sends the types with the statement
UNTYPED = {"42P18", "42P08"}
COLUMNS = """
SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
   AND a.attnum > 0 AND NOT a.attisdropped
"""


def variants(path: Path) -> list[str]:
    """Return the statement with each combination of parts for its marks."""
    lines = path.read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    marks = list(dict.fromkeys(MARK.findall(text)))
    parts = ["", "1"]  # an ORDER BY needs an expression
    if len(marks) <= FEW_MARKS:
        parts += [part.read_text() for part in sorted(path.parent.glob("parts/*.sql"))]
    found = []
    for chosen in product(parts, repeat=len(marks)):
        whole = text
        for mark, part in zip(marks, chosen, strict=True):
            whole = whole.replace(f"/* {mark} */", part)
        found.append(whole)
    return found


def problem(session: psycopg.Connection, text: str) -> str | None:
    """Return PostgreSQL's error for a statement, or None; the statement is not run."""
    places: dict[str, int] = {}
    numbered = PLACE.sub(lambda one: f"${places.setdefault(one[1], len(places) + 1)}", text)
    result = session.pgconn.prepare(b"", numbered.replace("%%", "%").encode())
    if result.status == ExecStatus.COMMAND_OK:
        return None
    state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    return None if state in UNTYPED else f"{state} {result.get_error_message()}"


def test_every_statement_of_the_last_release_fits_the_tables_of_this_one(
    source: Path, restored: str, upgraded: str
) -> None:
    statements = [
        path for path in sorted(source.glob("*/sql/**/*.sql")) if not NO_STATEMENTS & {*path.parts}
    ]
    wrong, untried = [], []

    with psycopg.connect(restored) as before, psycopg.connect(upgraded) as after:
        before.autocommit = after.autocommit = True
        for path in statements:
            name = str(path.relative_to(source))
            good = [text for text in variants(path) if problem(before, text) is None]
            untried += [] if good else [name]
            wrong += [(name, why) for text in good if (why := problem(after, text))]

    assert wrong == []
    assert untried == []
    assert len(statements) > 100


def columns(url: str) -> dict[tuple[str, str], tuple[str, bool]]:
    """Return the type of each column, and whether an INSERT must name the column."""
    with psycopg.connect(url) as session:
        return {(table, name): (kind, must) for table, name, kind, must in session.execute(COLUMNS)}


def test_columns_of_the_last_release_stay_and_new_ones_need_no_value(
    restored: str, upgraded: str
) -> None:
    before, after = columns(restored), columns(upgraded)
    tables = {table for table, _ in before}

    assert {key: after.get(key, (None,))[0] for key in before} == {
        key: kind for key, (kind, _) in before.items()
    }
    assert [
        key for key, (_, must) in after.items() - before.items() if must and key[0] in tables
    ] == []


def test_a_function_that_the_last_release_would_miss_is_noticed(restored: str) -> None:
    with psycopg.connect(restored, autocommit=True) as session:
        assert problem(session, "SELECT ojs_claim(1)") is not None
        assert problem(session, "SELECT none FROM ojs_job") is not None
        assert problem(session, "SELECT ojs_time(%(at)s)") is None


@pytest.mark.parametrize("name", ["jobs/sql/dispatch/claim.sql", "jobs/sql/enqueue/enqueue.sql"])
def test_the_statements_of_the_hot_path_are_among_those_looked_at(source: Path, name: str) -> None:
    assert (source / name).exists()
