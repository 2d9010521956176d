"""A store of a given size, loaded by the database itself: see `bench/sql/console_*.sql`."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.database import Database
from bench.statements import script

SLICE = 100_000  # jobs of one statement
LANE = 1_000_000  # id of the first lane
EVENTED = 330_000  # newest jobs with three events each: the default bound of retention
SMALL = 100_000  # below this number of jobs, all other tables are small, too


@dataclass(frozen=True, slots=True)
class Store:
    """The size of a store: jobs in all states, and the other tables in proportion."""

    database: Database
    jobs: int
    connections: int = 3
    queues: int | None = None  # None: 50, fewer in a small store

    def build(self) -> None:
        """Load an empty, migrated database and read its statistics."""
        facts = self._facts()
        self._run("places", facts)
        with ThreadPoolExecutor(self.connections) as threads:
            list(threads.map(lambda part: self._run("jobs", facts | part), self._slices()))
        self._run("rest", facts)
        self.database.run("VACUUM (ANALYZE) ojs_job")  # large tables are counted by statistics
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
