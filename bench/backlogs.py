"""Paths without requests: the loops work off a backlog that appears all at once."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import pgbench
from bench.cpu import metered
from bench.database import Database
from bench.load import Measured
from bench.statements import script, text

PATIENCE_S = 300.0
LOOK_S = 0.25  # counting takes time itself


class BacklogError(Exception):
    """The loops made no progress."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """`made_by` makes it and a copy, `left` counts it, `plain` ends the copy by `batch`."""

    made_by: str
    left: str
    plain: str
    batch: int
    per_second: int  # jobs for each second of a slice

    def by_loops(self, database: Database, seconds: float) -> Measured:
        """Let the server's loops work it off; the measurement starts at their first progress."""
        number = self._make(database, seconds)
        _wait(lambda: database.number(self.left) < number)
        began, before = time.perf_counter(), database.number(self.left)
        with metered() as meter:
            _wait(lambda: not database.number(self.left))
        return Measured(before, time.perf_counter() - began, cpu_s=meter.seconds)

    def by_pgbench(self, database: Database, folder: Path, seconds: float) -> Measured:
        """Work off the copy from the previous slice, with one connection like the loop's leader."""
        file = folder / f"{self.plain}.sql"
        file.write_text(text(self.plain, batch=self.batch))
        batches = math.ceil(self.per_second * seconds / self.batch)
        with metered() as meter:
            _, took = pgbench.run_number(database, file, batches)
        return Measured(round(self.per_second * seconds), took, cpu_s=meter.seconds)

    def _make(self, database: Database, seconds: float) -> int:
        number = round(self.per_second * seconds)
        database.run(*script(self.made_by, number=number).split(";"))
        return number


def _wait(is_done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_done():
        if time.monotonic() > until:
            raise BacklogError("the loops did not finish in time")
        time.sleep(LOOK_S)


DUE = Backlog(
    made_by="due",
    left="SELECT count(*) FROM ojs_later",
    plain="move",
    batch=5_000,
    per_second=500_000,
)
OUTLIVED = Backlog(
    made_by="outlived",
    left="SELECT count(*) FROM ojs_finished WHERE queue = 'bench-in' AND kind = 6",
    plain="delete",
    batch=1_000,
    per_second=50_000,
)
