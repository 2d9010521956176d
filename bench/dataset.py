"""The rows during a path: few, or a long history, with the same backlog."""

from dataclasses import dataclass

from bench.database import Database
from bench.statements import script


@dataclass(frozen=True, slots=True)
class Dataset:
    """A database with `available` waiting jobs; `finished` 0: emptied at each refill."""

    database: Database
    finished: int
    available: int
    lanes: int

    @property
    def title(self) -> str:
        """The name of the dataset in the report."""
        return f"{self.finished:,} finished" if self.finished else "empty"

    def build(self) -> None:
        """Make lanes, history and backlog, and update the statistics."""
        self.database.run(script("lanes", lanes=self.lanes))
        if self.finished:
            filling = script("finished", finished=self.finished, lanes=self.lanes)
            self.database.run(*filling.split(";"))
        self.refill(self.available)

    def refill(self, size: int) -> None:
        """Bring the backlog to `size`; without a history, first remove all other jobs."""
        if not self.finished:
            self.database.run(script("clear"))
        missing = max(0, size - self.waiting())
        self.database.run(*script("available", number=missing, lanes=self.lanes).split(";"))
        self.vacuum()

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

    def tidy(self, marker: str) -> None:
        """Remove the jobs that the enqueue paths stored since `marker`."""
        self.database.run(*script("tidy", marker=marker).split(";"))
        self.database.run("VACUUM ojs_job, ojs_ready, ojs_event")
