"""Faults of a database, each a context manager: the fault lasts as long as the block."""

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import sql

from ojs_project.postgres import Cluster
from tests.processes import family

# Timeouts so short that a test reaches them. With the default timeouts the server answers within
# ten seconds. PROMISE_S is longer, for a busy machine: a client that waits this long met a hang.
SHORT = {"OJS_STATEMENT_TIMEOUT_MS": "500", "OJS_LOCK_TIMEOUT_MS": "400"}
PROMISE_S = 30.0


@contextlib.contextmanager
def stalled(cluster: Cluster) -> Iterator[None]:
    """Stop all processes of a PostgreSQL; the kernel still accepts its connections and bytes."""
    postmaster = int((cluster.data / "postmaster.pid").read_text().split()[0])
    members = family(postmaster)
    try:
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


REFUSE = """
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'refused by a test' USING ERRCODE = '{code}';
END $$;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON {table} EXECUTE FUNCTION refuse()
"""


@contextlib.contextmanager
def refusing(url: str, code: str = "53100", *tables: str) -> Iterator[None]:
    """Let every write to the tables fail with this SQLSTATE; the default is a full disk."""
    named = tables or ("ojs_event",)
    with psycopg.connect(url, autocommit=True) as connection:
        for table in named:
            connection.execute(sql.SQL(REFUSE.format(code=code, table=table)))
        try:
            yield
        finally:
            connection.execute("DROP FUNCTION refuse CASCADE")


@contextlib.contextmanager
def read_only(url: str) -> Iterator[None]:
    """Let every transaction of the database be read-only, as on a standby."""
    with psycopg.connect(url, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        set_to = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
        _set_for_all(connection, set_to.format(name, sql.SQL("on")))
        try:
            yield
        finally:
            connection.execute("SET default_transaction_read_only = off")
            _set_for_all(connection, set_to.format(name, sql.SQL("off")))


def _set_for_all(connection: psycopg.Connection[Any], statement: sql.Composed) -> None:
    """Change a setting of the database and end the sessions that still use the old value."""
    connection.execute(statement)
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


@contextlib.contextmanager
def stopped(cluster: Cluster) -> Iterator[None]:
    """Stop a PostgreSQL as in a crash, and start it again."""
    cluster.stop(immediately=True)
    try:
        yield
    finally:
        cluster.start()
