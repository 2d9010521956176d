"""SQL files as statements: a folder of `<name>.sql`, each read once, run by name."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import adapters
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.types.string import TextLoader

KEPT = "ojs_cursor"
TIMESTAMPTZ, UUID = adapters.types["timestamptz"].oid, adapters.types["uuid"].oid


class Statements:
    """The statements of one app; names are those of the files."""

    def __init__(self, folder: Path) -> None:
        """Read nothing yet."""
        self._folder = folder
        self.text = cache(self._read)

    def _read(self, name: str) -> str:
        lines = (self._folder / f"{name}.sql").read_text().splitlines()
        return "\n".join(line for line in lines if not line.startswith("--"))

    def rows(self, name: str, params: Mapping[str, Any], suffix: str = "") -> list[Any]:
        """Run a statement and return its rows as tuples: ids as text, times in UTC, JSON as asked.

        `suffix` is constant text that follows the statement, such as an order.
        """
        cursor = _cursor()
        cursor.execute(self.text(name) + suffix, params)
        return cursor.fetchall() if cursor.cursor.pgresult.nfields else []


def _cursor() -> CursorWrapper:
    """Return the cursor kept with this thread's connection; a new one where statements are logged.

    Making one took a tenth of the time that an enqueue spends in Python.
    """
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    if connection.queries_logged:
        return _made()
    raw = connection.connection
    kept: CursorWrapper | None = getattr(raw, KEPT, None)
    if kept is None:
        kept = _made()
        setattr(raw, KEPT, kept)  # and ends with it
    return kept


def _made() -> CursorWrapper:
    cursor = connection.cursor()
    # for this cursor only: a job has up to seven times, and ids are handed on as text
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
