"""A migration of many rows that survives the death of its worker at any time.

Each page is a step. A worker that dies repeats at most the page that it was at, and a repeated page
writes the same rows again. A million rows in pages of 10,000 are a hundred steps.
"""

import sqlite3
from contextlib import closing

from ojs_tasks import current_job, job, step


def last_id(path: str) -> int:
    """Return the highest id at the start; the application writes later rows to both tables."""
    with closing(sqlite3.connect(path)) as database:
        found: int = database.execute("SELECT coalesce(max(id), 0) FROM old_rows").fetchone()[0]
    return found


def copy(path: str, after: int, until: int) -> int:
    """Copy the rows with ids above `after`, up to `until`, in one transaction."""
    with closing(sqlite3.connect(path)) as database, database:
        return database.execute(
            "INSERT OR REPLACE INTO new_rows (id, name)"
            " SELECT id, upper(name) FROM old_rows WHERE id > ? AND id <= ?",
            (after, until),
        ).rowcount


@job("rows.migrate", queue="examples", retry={"max_attempts": 1000})
def migrate(path: str, size: int = 10_000) -> int:
    """Copy all rows, page by page; return their number."""
    last = step("last", last_id, path)
    copied = 0
    for after in range(0, last, size):
        copied += step(f"after-{after}", copy, path, after, min(after + size, last))
        current_job().progress(min(1.0, (after + size) / last), f"{copied} rows")
    return copied
