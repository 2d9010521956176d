"""django-prometheus's PostgreSQL engine with the metrics of a connection looked up once.

Its own cursor looks them up by label for every statement, which took a seventh of the rate of a
single enqueue. Names and labels are its own; it still counts connections and their failures.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar

from django.db.backends.postgresql import base
from django_prometheus.db import errors_total, execute_total, query_duration_seconds
from django_prometheus.db.common import DatabaseWrapperMixin, ExportingCursorWrapper

from jobs.tally import later

T = TypeVar("T")


def counting(cursor: type[Any], alias: str, vendor: str) -> type[Any]:
    """Return a cursor class that counts and times what it executes."""
    exporting: Any = ExportingCursorWrapper(cursor, alias, vendor)
    executed = execute_total.labels(alias, vendor)
    took = query_duration_seconds.labels(alias, vendor)

    def record(seconds: float) -> None:
        executed.inc()
        took.observe(seconds)

    class CountingCursor(exporting):  # type: ignore[misc]  # its base is known at run time only
        def execute(self, *args: Any, **kwargs: Any) -> Any:
            return self.counted(lambda: cursor.execute(self, *args, **kwargs))

        @staticmethod
        def counted(run: Callable[[], T]) -> T:
            """Run one statement, also one that takes no cursor: see jobs/statements.py."""
            began = perf_counter()
            try:
                return run()
            except Exception as problem:
                errors_total.labels(alias, vendor, type(problem).__name__).inc()
                raise
            finally:
                later(record, perf_counter() - began)

    return CountingCursor


class DatabaseWrapper(DatabaseWrapperMixin, base.DatabaseWrapper):  # type: ignore[misc]  # untyped
    """Gives each connection a cursor that counts; the mixin counts connections.

    Its releases wrap the cursor of PostgreSQL in different places, so none of those is used.
    """

    def get_connection_params(self) -> dict[str, Any]:
        """Name the cursor class."""
        params: dict[str, Any] = super().get_connection_params()
        params["cursor_factory"] = counting(params["cursor_factory"], self.alias, self.vendor)
        return params

    def create_cursor(self, name: str | None = None) -> Any:
        """Make Django's own cursor, which is the counting one by now."""
        return base.DatabaseWrapper.create_cursor(self, name=name)
