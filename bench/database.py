"""One database of the benchmark's cluster: its URL for every client, and plain SQL."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

Row = tuple[Any, ...]
TRIES = 5


@dataclass(frozen=True, slots=True)
class Database:
    """A database reached over the cluster's socket folder."""

    name: str
    sockets: Path
    role: str = "postgres"

    @property
    def url(self) -> str:
        """The URL for DATABASE_URL."""
        return f"postgresql://{self.role}@/{self.name}?host={quote(str(self.sockets))}"

    def connect(self) -> "psycopg.Connection[Row]":
        """Open a connection in autocommit mode."""
        return psycopg.connect(self.url, autocommit=True)

    def run(self, *statements: str) -> None:
        """Execute statements without parameters, each in its own transaction."""
        with self.connect() as connection:
            for text in filter(str.strip, statements):
                _execute(connection, text)

    def number(self, text: str) -> int:
        """Return the single number that a statement selects."""
        with self.connect() as connection:
            row = connection.execute(text.encode()).fetchone()
        return int(row[0]) if row and row[0] is not None else 0

    def text(self, text: str) -> str | None:
        """Return the single value that a statement selects, as text; None for no row or null."""
        with self.connect() as connection:
            row = connection.execute(text.encode()).fetchone()
        return None if row is None or row[0] is None else str(row[0])


def _execute(connection: "psycopg.Connection[Row]", text: str) -> None:
    for _ in range(TRIES - 1):
        try:
            connection.execute(text.encode())
        except psycopg.errors.DeadlockDetected:  # with the running loops
            continue
        return
    connection.execute(text.encode())
