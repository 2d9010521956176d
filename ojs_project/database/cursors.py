"""Count and time statements with metrics that are looked up once per connection.

The cursor of django-prometheus looks them up by label for every statement, which took a seventh of
the rate of a single enqueue. Names and labels are unchanged.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar

from django_prometheus.db import errors_total, execute_total, query_duration_seconds
from django_prometheus.db.common import ExportingCursorWrapper
from psycopg.errors import ReadOnlySqlTransaction

from jobs.fastpath.deferred_metrics import later

T = TypeVar("T")


def counting(cursor: type[Any], alias: str, vendor: str) -> type[Any]:
    """Return a cursor class that counts and times its statements."""
    exporting: Any = ExportingCursorWrapper(cursor, alias, vendor)
    executed = execute_total.labels(alias, vendor)
    took = query_duration_seconds.labels(alias, vendor)

    def record(seconds: float) -> None:
        executed.inc()
        took.observe(seconds)

    class CountingCursor(exporting):  # type: ignore[misc]  # its base is known at run time only
        def execute(self, *args: Any, **kwargs: Any) -> Any:
            return self.counted(lambda: cursor.execute(self, *args, **kwargs))

        def direct(self, run: Callable[[], T]) -> T:
            """Run one statement without a cursor, within its time bound: see statements.py."""
            line = self.connection  # of ojs_project/database/guard.py
            found: T = self.counted(lambda: line.within(line.most_s, run))
            return found

        def counted(self, run: Callable[[], T]) -> T:
            """Run one statement, and count and time it."""
            began = perf_counter()
            try:
                return run()
            except Exception as problem:
                self.count_error(problem)
                raise
            finally:
                later(record, perf_counter() - began)

        def count_error(self, problem: Exception) -> None:
            """Count the failure of a statement."""
            _look_at(problem, self.connection)
            errors_total.labels(alias, vendor, type(problem).__name__).inc()

        def count(self, seconds: float) -> None:
            """Count and time a statement of a trip: see statements.py."""
            later(record, seconds)

    return CountingCursor


def _look_at(problem: Exception, connection: Any) -> None:
    if isinstance(problem, ReadOnlySqlTransaction):
        connection.outage.suspect()  # another server may have taken over
