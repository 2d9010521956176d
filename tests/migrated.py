"""The migrated database of a test run, of which the workers' databases are copies."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from django.conf import settings
from django.db import connection

LOCK = 0x6F6A73  # of the server, for all workers of the run


@dataclass(frozen=True, slots=True)
class Migrated:
    """A database with all tables and without rows or sessions.

    To migrate takes many times as long as to copy. The first worker that needs the database makes
    it, and each worker drops it at its end: one that needs it later makes it again.
    """

    name: str  # of this run alone

    @contextmanager
    def named(self) -> Iterator[str]:
        """Return the name of the database, which nothing else copies or drops meanwhile."""
        with self._locked() as admin:
            if not admin.execute(
                "SELECT FROM pg_database WHERE datname = %s", [self.name]
            ).fetchall():
                self._make()
            yield self.name

    def drop(self) -> None:
        """Drop the database if it exists."""
        with self._locked() as admin:
            admin.execute(f'DROP DATABASE IF EXISTS "{self.name}"')

    def _make(self) -> None:
        facts = connection.settings_dict
        own, test = facts["NAME"], facts["TEST"]["NAME"]
        facts["TEST"]["NAME"] = self.name
        try:
            connection.creation.create_test_db(verbosity=0, autoclobber=True)
        finally:
            connection.close()
            facts["NAME"] = settings.DATABASES[connection.alias]["NAME"] = own
            facts["TEST"]["NAME"] = test

    @contextmanager
    def _locked(self) -> Iterator["psycopg.Connection"]:
        facts = connection.settings_dict
        with psycopg.connect(
            host=facts["HOST"], port=facts["PORT"] or None, user=facts["USER"],
            password=facts["PASSWORD"] or None, dbname="postgres", autocommit=True,
        ) as admin:  # fmt: skip
            admin.execute("SELECT pg_advisory_lock(%s)", [LOCK])
            yield admin
