"""Databases that this release upgrades, and missing parts that it finds."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands.migrate import Command as Plain
from django.db import OperationalError, connection, connections
from psycopg.errors import DeadlockDetected, LockNotAvailable

from jobs import SERVES, VERSION, queries
from jobs.conf import conf
from jobs.services.storage import schema

pytestmark = pytest.mark.django_db

FORGET_LAST = "DELETE FROM django_migrations WHERE app = 'ojs_jobs' AND name >= '0004'"
NEWER = "UPDATE ojs_release SET version = '99.0.0'"


def run(*statements: str) -> None:
    """Run statements."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def refusal() -> str:
    """Return the reason for the refusal of the database."""
    with pytest.raises(schema.SchemaRefused) as problem:
        schema.check()
    return str(problem.value)


# --- missing parts --------------------------------------------------------------------------------


def test_a_migrated_database_lacks_nothing() -> None:
    assert schema.lacking() == []


def test_missing_tables_columns_functions_and_migrations_are_named() -> None:
    run(
        "DROP TABLE ojs_hold",
        "ALTER TABLE ojs_job DROP COLUMN bytes",
        "DROP FUNCTION ojs_time(timestamptz)",
        "UPDATE ojs_function SET hash = 'of another source' WHERE name = 'ojs_claim_jobs'",
        "DELETE FROM django_migrations WHERE app = 'ojs_webhooks' AND name = '0001_initial'",
    )

    assert {
        "migration ojs_webhooks.0001_initial", "table ojs_hold", "column ojs_job.bytes",
        "function ojs_claim_jobs", "function ojs_time",
    } <= set(schema.lacking())  # fmt: skip


def test_a_database_whose_functions_were_never_noted_lacks_them() -> None:
    run("DELETE FROM ojs_release")

    assert schema.lacking() == ["functions"]


def test_functions_of_a_newer_release_that_serves_this_one_are_good() -> None:
    run(NEWER, "UPDATE ojs_function SET hash = 'newer'")

    assert schema.lacking() == []


def test_functions_of_a_newer_release_that_does_not_serve_this_one_are_not() -> None:
    run(NEWER, "UPDATE ojs_release SET serves = '98.0.0'", "UPDATE ojs_function SET hash = 'newer'")

    assert "function ojs_claim_jobs" in schema.lacking()


# --- databases that are upgraded ------------------------------------------------------------------


def test_a_database_of_this_release_is_taken() -> None:
    schema.check()


def test_a_database_of_a_newer_release_is_refused() -> None:
    run(NEWER)

    assert refusal().startswith(f"the database is of release 99.0.0, this is {VERSION}: run ")


def test_a_database_with_migrations_of_a_newer_state_is_refused() -> None:
    run(
        "INSERT INTO django_migrations (app, name, applied)"
        " VALUES ('ojs_jobs', '9999_later', now())"
    )

    assert "(ojs_jobs.9999_later)" in refusal()


def test_versions_are_compared_by_number() -> None:
    assert schema._parts("0.10.0") > schema._parts("0.9.1")


# --- manage.py migrate ----------------------------------------------------------------------------


def test_migrate_brings_functions_up_to_date_and_notes_the_release() -> None:
    run("DELETE FROM ojs_release", "DROP FUNCTION ojs_time(timestamptz)")
    out = StringIO()

    call_command("migrate", stdout=out)

    assert "Stored functions brought up to date: 1" in out.getvalue()
    assert queries.release() == (VERSION, SERVES)
    assert schema.lacking() == []


def test_migrate_that_leaves_migrations_out_leaves_functions_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("UPDATE ojs_function SET hash = 'older'", FORGET_LAST)

    assert schema.finish("default") == []


@pytest.mark.parametrize("option", ["--plan", "--check"])
def test_migrate_that_only_looks_takes_no_lock(option: str) -> None:
    run(NEWER)  # this option refuses no database

    call_command("migrate", option, stdout=StringIO())


def test_migrate_waits_for_another_and_names_it() -> None:
    other = connections.create_connection(conf().direct_database)
    try:
        other.ensure_connection()
        other.set_autocommit(False)
        assert queries.lock_schema(other) is None
        pid = other.connection.info.backend_pid

        with pytest.raises(CommandError, match=rf"session {pid}.* within 0 s"):
            call_command("migrate", "--wait", "0", verbosity=0)
    finally:
        other.close()
    call_command("migrate", verbosity=0)


def test_migrate_gives_the_bounds_of_the_session_back() -> None:
    schema.bound_locks("default", 3000)
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("3s",)

    call_command("migrate", verbosity=0)

    with connection.cursor() as cursor:
        cursor.execute("SELECT setting = reset_val FROM pg_settings WHERE name = 'lock_timeout'")
        assert cursor.fetchone() == (True,)


def test_migrate_through_a_pooler_leaves_no_setting_in_its_sessions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)

    schema.bound_locks("default", 3000)

    with connection.cursor() as cursor:
        cursor.execute("SELECT setting = reset_val FROM pg_settings WHERE name = 'lock_timeout'")
        assert cursor.fetchone() == (True,)


def test_no_timeout_of_idle_transactions_ends_the_lock_of_migrations() -> None:
    other = connections.create_connection(conf().direct_database)
    try:
        other.ensure_connection()
        with other.cursor() as cursor:
            cursor.execute("SET idle_in_transaction_session_timeout = '60s'")
        other.set_autocommit(False)

        assert queries.lock_schema(other) is None

        with other.cursor() as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            assert cursor.fetchone() == ("0",)
    finally:
        other.close()


def test_migrate_tries_again_while_a_table_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [DeadlockDetected(), LockNotAvailable(), None]

    def attempt(*_arguments: object, **_options: object) -> None:
        if problem := outcomes.pop(0):
            raise OperationalError from problem

    monkeypatch.setattr(Plain, "handle", attempt)

    call_command("migrate", verbosity=0)

    assert outcomes == []


def test_migrate_gives_up_on_a_table_that_stays_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(*_arguments: object, **_options: object) -> None:
        raise OperationalError from LockNotAvailable()

    monkeypatch.setattr(Plain, "handle", attempt)

    with pytest.raises(CommandError, match="long transactions use a table"):
        call_command("migrate", "--wait", "0", verbosity=0)
