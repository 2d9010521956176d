"""Databases that the upgrade accepts or refuses; a refusal changes nothing."""

import subprocess
from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.db import connection, transaction

from jobs import queries
from jobs.services.storage import schema
from tests.concurrency import at_once
from tests.upgrade.conftest import Enter, Make, firststart

pytestmark = pytest.mark.xdist_group("upgrade")  # one process makes the databases

Change = Callable[..., None]


@pytest.fixture(scope="module")
def first(databases: Make, oldest: str) -> str:
    """Return a database of the first release."""
    return databases(oldest)


@pytest.fixture
def change(entered: Enter, first: str) -> Iterator[Change]:
    """Open a transaction on that database; give a function that runs statements in it."""

    def run(*statements: str) -> None:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    with entered(first), transaction.atomic():
        yield run
        transaction.set_rollback(True)


def refusal() -> str:
    """Return the reason why the database is refused."""
    with pytest.raises(schema.SchemaRefused) as problem:
        schema.check()
    return str(problem.value)


def test_a_database_of_the_first_release_is_taken(change: Change) -> None:
    schema.check()


def test_an_interrupted_first_migrate_goes_on(change: Change) -> None:
    change(
        "DELETE FROM django_migrations WHERE app LIKE 'ojs%' AND app <> 'ojs_jobs'"
        " OR app = 'ojs_jobs' AND name >= '0002'",
    )

    schema.check()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("ALTER TABLE ojs_job DROP COLUMN bytes", "no column ojs_job.bytes"),
        ("ALTER TABLE ojs_job ALTER bytes TYPE text", "column ojs_job.bytes is text"),
        ("TRUNCATE ojs_hold; ALTER TABLE ojs_hold ADD extra int NOT NULL",
         "unknown column ojs_hold.extra"),
        ("DROP TABLE ojs_hold", "no table ojs_hold"),
        ("DROP INDEX ojs_lane_asleep", "no index, constraint or trigger ojs_lane_asleep"),
        ("DROP INDEX ojs_audit_at", "no index, constraint or trigger ojs_audit_at"),
        ("DROP TRIGGER ojs_audit_kept ON ojs_audit", "trigger ojs_audit_kept"),
        ("INSERT INTO django_migrations (app, name, applied)"
         " VALUES ('ojs_console', '0001_roles', now())",
         "unknown migration ojs_console.0001_roles"),
    ],
)  # fmt: skip
def test_an_older_database_is_refused_by_what_differs(
    change: Change, statement: str, named: str
) -> None:
    change(statement)

    text = refusal()

    assert text.startswith(f"the database is older than release {schema.FIRST}")
    assert f"{named})" in text
    assert "docs/upgrading.md" in text
    assert "\n" not in text


def test_a_refusal_names_a_few_of_many_differences(change: Change) -> None:
    change(*(f"DROP TABLE ojs_{name}" for name in ("hold", "start", "tally", "unique")))

    assert "(no table ojs_hold, no table ojs_start, no table ojs_tally and " in refusal()


def test_the_command_changes_nothing_of_an_older_database(databases: Make, oldest: str) -> None:
    url = databases(oldest)
    with psycopg.connect(url) as session:
        session.execute("ALTER TABLE ojs_job DROP COLUMN bytes")
        session.execute("DROP FUNCTION ojs_time")
    before = state(url)

    done = firststart(url)

    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("CommandError: the database is older than release 0.1.0")
    assert "(no column ojs_job.bytes)" in line
    assert state(url) == before


def state(url: str) -> list[tuple[object, ...]]:
    """Return the row versions of all tables, functions and migrations."""
    with psycopg.connect(url) as session:
        return session.execute(
            "SELECT relname::text, xmin::text FROM pg_class UNION ALL"
            " SELECT proname::text, xmin::text FROM pg_proc UNION ALL"
            " SELECT name, xmin::text FROM django_migrations ORDER BY 1, 2"
        ).fetchall()


def test_a_database_of_a_newer_release_is_refused_by_the_command(
    databases: Make, upgraded: str
) -> None:
    url = databases(upgraded)
    with psycopg.connect(url) as session:
        session.execute("UPDATE ojs_release SET version = '99.0.0'")

    done = firststart(url)

    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: the database is of release 99.0.0, this is ")


def test_pods_that_migrate_at_once_take_turns(
    databases: Make, restored: str, entered: Enter
) -> None:
    url = databases(restored)

    done: list[subprocess.CompletedProcess[str]] = at_once([lambda: firststart(url)] * 3)

    assert [one.returncode for one in done] == [0, 0, 0], [one.stderr for one in done]
    with entered(url):
        assert schema.lacking() == []
        assert queries.release() is not None
