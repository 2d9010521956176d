"""Delete all data, for conformance runs. Spec: contract 3.2, `/admin/reset`."""

from collections.abc import Callable

from jobs import caches, extensions, queries
from jobs.repeat import repeated

TRIES = 50
AN_HOUR_MS, ALL = 3_600_000, 2**31 - 1


def reset() -> None:
    """Delete all jobs, queues, workers, events and counts; API keys stay."""
    persist(_truncate)
    clear_caches()


def persist(empty: Callable[[], None]) -> None:
    """Empty tables; repeat it after a deadlock.

    Running statements lock the same tables in other orders. After a deadlock this work is repeated,
    and so is the other statement if the database chose it.
    """
    repeated(empty, tries=TRIES)


def _truncate() -> None:
    queries.reset(extensions.tables())
    queries.prune_audit(-AN_HOUR_MS, ALL)  # the database refuses to truncate it
    queries.raise_config_version()  # other processes remember queues


def clear_caches() -> None:
    """Clear all caches of this process after the store was emptied, extensions' own included."""
    caches.clear_all()
    extensions.clear_caches()
