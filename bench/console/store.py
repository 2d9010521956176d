"""A store as large as asked, loaded by the database itself: see `bench/sql/console_*.sql`."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.database import Database
from bench.statements import script

SLICE = 100_000  # jobs of one statement
LANE = 1_000_000  # id of the first lane
EVENTED = 330_000  # of the newest jobs: with three events each what retention keeps by default
SMALL = 100_000  # jobs below which all else is small, too


@dataclass(frozen=True, slots=True)
class Store:
    """So many jobs in all states, and everything else that pages show in proportion."""

    database: Database
    jobs: int
    connections: int = 3
    queues: int | None = None  # None: 50, fewer where all is small

    def build(self) -> None:
        """Load an empty, migrated database and read its statistics."""
        facts = self._facts()
        self._run("places", facts)
        with ThreadPoolExecutor(self.connections) as threads:
            list(threads.map(lambda part: self._run("jobs", facts | part), self._slices()))
        self._run("rest", facts)
        self.database.run("VACUUM (ANALYZE) ojs_job")  # counted from its statistics, if many
        self._run("counts", facts)
        self.database.run("VACUUM (ANALYZE)")

    def _facts(self) -> dict[str, object]:
        is_small = self.jobs < SMALL
        return {
            "jobs": self.jobs, "at": datetime.now(UTC).isoformat(), "lane": LANE,
            "queues": self.queues or (5 if is_small else 50), "tenants": 10 if is_small else 200,
            "minutes": 60 if is_small else 1440, "hours": 24 if is_small else 168,
            "evented": EVENTED, "audited": 500 if is_small else 100_000,
        }  # fmt: skip

    def _slices(self) -> Iterator[dict[str, object]]:
        for first in range(0, self.jobs, SLICE):
            yield {"first": first, "last": min(self.jobs, first + SLICE) - 1}

    def _run(self, name: str, facts: dict[str, object]) -> None:
        self.database.run(*script(f"console_{name}", **facts).split(";"))
