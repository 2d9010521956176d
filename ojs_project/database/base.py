"""django-prometheus's PostgreSQL engine with bounded statements and a faster counting cursor.

Names and labels of the metrics are unchanged. The package still counts connections and their
failures.
"""

import os
from collections import defaultdict
from contextlib import closing
from typing import Any, cast

from django.db.backends.postgresql import base
from django_prometheus.db.common import DatabaseWrapperMixin

from jobs import baton, bounds
from ojs_project.database import driver
from ojs_project.database.cursors import counting
from ojs_project.database.guard import Connection, NoAnswer, Outage

NOT_CONNECTED = "08001"  # sqlclient_unable_to_establish_sqlconnection; libpq gives no code

_outages: defaultdict[str, Outage] = defaultdict(Outage)  # by alias


def _forget() -> None:
    """Forget all outages in a forked process, which has no thread that probes for their end."""
    _outages.clear()


os.register_at_fork(after_in_child=_forget)


def _prove(outage: Outage, conn_params: dict[str, Any]) -> None:
    """Connect, get one answer, and close. Raises psycopg.Error."""
    with closing(cast("Connection", driver.connect(**conn_params))) as made:
        made.bind(outage, bounds.GRACE_S)
        made.prove()


def _replaced() -> NoAnswer:
    problem = NoAnswer("a failover has replaced this primary")
    problem.sqlstate = NOT_CONNECTED
    return problem


def _options(given: bounds.Bounds) -> str:
    named = {
        "statement_timeout": given.statement_ms,
        "lock_timeout": given.lock_ms,
        "idle_in_transaction_session_timeout": given.idle_in_transaction_ms,
    }
    return " ".join(f"-c {name}={ms}" for name, ms in named.items())


class DatabaseWrapper(DatabaseWrapperMixin, base.DatabaseWrapper):  # type: ignore[misc]  # untyped
    """Gives each connection a cursor that counts; the mixin counts connections.

    Releases of django-prometheus wrap the cursor of PostgreSQL in different places. This class
    therefore avoids its wrapping of cursors.
    """

    Database = driver

    def get_connection_params(self) -> dict[str, Any]:
        """Return psycopg's parameters with the cursor class and the server's bounds."""
        params: dict[str, Any] = super().get_connection_params()
        params["cursor_factory"] = counting(params["cursor_factory"], self.alias, self.vendor)
        # a transaction-mode pooler refuses these options: the role of its users must have the
        # bounds
        if not self.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]:
            params["options"] = f"{_options(bounds.current())} {params.get('options', '')}".strip()
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        """Connect. Raises NoAnswer during an outage of the database."""
        baton.pass_on()  # before a wait for the server
        outage = _outages[self.alias]
        try:
            with outage.connecting(lambda: _prove(outage, conn_params)):
                made: Connection = super().get_new_connection(conn_params)
                made.bind(outage, bounds.current().answer_s)
        except driver.OperationalError as problem:
            # no statement was sent: the error code lets a caller retry elsewhere
            problem.sqlstate = problem.sqlstate or NOT_CONNECTED
            raise
        return made

    def ensure_connection(self) -> None:
        """Connect if there is no connection.

        A connection to a primary that a failover has replaced counts as lost, also within a
        transaction. Raises OperationalError then: the caller may depend on the session.
        """
        if self.connection is not None and self.connection.is_replaced:
            with self.wrap_database_errors:
                self.connection.close()
                raise _replaced()
        super().ensure_connection()

    def close_if_unusable_or_obsolete(self) -> None:
        """Close a connection that cannot be used any more, as Django does, or that is replaced."""
        raw = self.connection
        if raw is not None and raw.is_replaced and not self.in_atomic_block:
            self.close()
        super().close_if_unusable_or_obsolete()

    def close_if_suspect(self) -> None:
        """Close a connection that was made before the last outage of the database.

        For the start of a request, when nothing depends on the session.
        """
        if self.connection is not None and self.connection.is_suspect:
            self.close()

    def create_cursor(self, name: str | None = None) -> Any:
        """Return Django's own cursor, whose class counts."""
        return base.DatabaseWrapper.create_cursor(self, name=name)
