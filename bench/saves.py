"""The rate of saved checkpoints: the product's statement, and a bare UPDATE of the same size."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench import pgbench
from bench.cpu import metered
from bench.database import Database
from bench.load import Measured
from bench.statements import FOLDER, HEARD_MS, PLACE, script, text
from jobs.statements import Statements

JOBS: Final = 512  # active jobs, one of which each save chooses
STATE_BYTES: Final = 1024
DURABLE: Final = Statements(FOLDER.parent.parent / "durable" / "sql")
ID: Final = "('019a0000-0000-7000-8000-' || lpad((:n)::text, 12, '0'))"
STATE: Final = f"""('{{"n": ' || :n || ', "text": "' || repeat('x', {STATE_BYTES}) || '"}}')"""


def by_product(database: Database, folder: Path, clients: int, seconds: float) -> Measured:
    """Save checkpoints of active jobs as a worker with a database does."""
    given = {
        "id": ID, "state": STATE, "worker_id": "'bench'", "attempt": "1", "taken": "'{}'",
        "extends": "false", "seeds": "false", "tenant": "NULL", "heard_ms": HEARD_MS,
    }  # fmt: skip
    statement = PLACE.sub(lambda found: f"({given[found[1]]})", DURABLE.text("save"))
    return _run(database, folder / "save.sql", f"{statement};", clients, seconds)


def by_update(database: Database, folder: Path, clients: int, seconds: float) -> Measured:
    """Replace the same state in rows of a plain table."""
    statement = text("update", id=ID, state=STATE)
    return _run(database, folder / "update.sql", statement, clients, seconds)


def _run(database: Database, file: Path, statement: str, clients: int, seconds: float) -> Measured:
    file.write_text(f"\\set n random(1, {JOBS})\n{statement}\n")
    with _active(database), metered() as meter:
        transactions, took = pgbench.run(database, file, clients, seconds)
    return Measured(transactions, took, cpu_s=meter.seconds)


@contextmanager
def _active(database: Database) -> Iterator[None]:
    """Make the active jobs with their first checkpoints, and the plain rows; remove them after."""
    database.run(*script("saves", jobs=JOBS).split(";"))
    try:
        yield
    finally:
        database.run(*script("unsave").split(";"))
