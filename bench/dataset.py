"""The rows during a path: few, or a long history, with the same backlog."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.database import Database
from bench.statements import script

SLICE = 100_000  # jobs of one statement
CONNECTIONS = 2  # that load the database
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Dataset:
    """A database with `available` waiting jobs; `finished` 0: emptied at each refill."""

    database: Database
    finished: int
    available: int
    lanes: int
    days: float = 1.0  # since the oldest finished job
    evented: int | None = None  # newest finished jobs with events; None: all

    @property
    def title(self) -> str:
        """The name of the dataset in the report."""
        return f"{self.finished:,} finished" if self.finished else "empty"

    def build(self) -> None:
        """Make lanes, history and backlog, and update the statistics."""
        self.database.run(script("lanes", lanes=self.lanes))
        if self.finished:
            self._fill("finished", self.finished)
            self.database.run(*script("folded").split(";"))
        self.refill(self.available)

    def refill(self, size: int) -> None:
        """Bring the backlog to `size`; without a history, first remove all other jobs."""
        if not self.finished:
            self.database.run(script("clear"))
        missing = max(0, size - self.waiting())
        self._fill("available", missing)
        self.vacuum()

    def _fill(self, name: str, jobs: int) -> None:
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            list(threads.map(lambda part: self._part(name, part), slices(jobs)))

    def _part(self, name: str, part: tuple[int, int]) -> None:
        first, last = part
        filled = script(
            name, first=first, last=last, lanes=self.lanes,
            step_ms=self.days * DAY_MS / max(self.finished, 1),
            evented=self.finished if self.evented is None else self.evented,
        )  # fmt: skip
        self.database.run(*filled.split(";"))

    def vacuum(self) -> None:
        """Remove dead rows and update the statistics."""
        self.database.run("VACUUM (ANALYZE)")

    def ensure(self, needed: int) -> None:
        """Refill when fewer than `needed` jobs wait."""
        if self.waiting() < needed:
            self.refill(max(needed, self.available))

    def waiting(self) -> int:
        """Count the jobs that can be claimed."""
        return self.database.number(
            "SELECT count(*) FROM ojs_ready AS r JOIN ojs_lane AS l ON l.id = r.lane_id"
            " WHERE l.queue = 'bench'"
        )

    def unfinished(self) -> int:
        """Count the jobs of the backlog that have not ended yet."""
        return self.waiting() + self.database.number("SELECT count(*) FROM ojs_lease")

    def marker(self) -> str:
        """Return an id that is lower than all later ids."""
        with self.database.connect() as connection:
            row = connection.execute("SELECT uuidv7()::text").fetchone()
        return str(row[0]) if row else ""

    def ended_jobs(self) -> int:
        """Count the ended jobs."""
        return self.database.number("SELECT count(*) FROM ojs_finished")

    def ended(self, number: int) -> list[str]:
        """Return ids of up to `number` ended jobs, chosen at random."""
        with self.database.connect() as connection:
            rows = connection.execute(script("ended", number=number).encode()).fetchall()
        return [str(job_id) for (job_id,) in rows]

    def tidy(self, marker: str) -> None:
        """Remove the jobs that the enqueue paths stored since `marker`."""
        self.database.run(*script("tidy", marker=marker).split(";"))
        self.database.run("VACUUM ojs_job, ojs_ready, ojs_event")


def slices(jobs: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each statement's jobs, the highest numbers first."""
    for last in range(jobs, 0, -SLICE):
        yield max(1, last - SLICE + 1), last
