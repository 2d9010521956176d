"""Caches of a process: values that are loaded for a configuration version, and one call for all.

The `VersionedCache` holds one value. Each claim and each enqueue names the version of the values
that it followed, and does nothing if a newer version exists. So a cached value may be outdated,
and it must never look newer than it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final, Generic, Protocol, TypeVar

from jobs.conf import read_anew
from jobs.database import main_connection, on_commit, reading_from

MOST: Final = 100_000  # entries of a cached dictionary

_registered: list[Callable[[], object]] = []


class Versioned(Protocol):
    """A value that names the configuration version for which it was loaded."""

    @property
    def version(self) -> int: ...


T = TypeVar("T", bound=Versioned)
K = TypeVar("K")
V = TypeVar("V")


def register(clear: Callable[[], object]) -> None:
    """Let `clear_all` call a function that drops what the process remembers of the store."""
    _registered.append(clear)


def clear_all() -> None:
    """Clear all caches of this process, after the store was emptied or replaced."""
    for clear in _registered:
        clear()


class VersionedCache(Generic[T]):
    """One value per process, loaded at most once at a time.

    A value that a transaction loads is visible in this transaction alone until the commit: it may
    contain changes that are rolled back. Transactions load without the lock, since they may hold
    locks of the database. Therefore a thread that waits for the lock holds no row.
    """

    __slots__ = ("_guard", "_load", "_loads", "clears", "latest", "most")

    def __init__(
        self, load: Callable[[int | None], T], *, setting: str | None = None, most: int = MOST
    ) -> None:
        """Start empty. `load` gets the wanted version, None: the latest; it may load a later one.

        `setting` names the setting whose change clears the cache, in tests.
        """
        self.latest: T | None = None  # the value that all threads see
        self.clears = 0  # how often it was cleared: a load from before a clear is not cached
        self.most = most
        self._load = load
        self._loads = Lock()  # held during a load
        self._guard = Lock()  # held while `latest` is replaced, never during a statement
        register(self.clear)
        if setting is not None:
            read_anew(self, setting=setting)

    def current(self, version: int | None = None) -> T:
        """Return the cached value if it is of `version` or later, else load it; None: any."""
        found = self.latest
        if found is not None and (version is None or found.version >= version):
            return found
        return self.obtain(lambda one: version is None or one.version >= version, version)

    def obtain(self, suits: Callable[[T], bool], version: int | None = None) -> T:
        """Return the cached value if it suits, else load it, whether the new value suits or not."""
        found = self.cached(suits)
        if found is not None:
            return found
        if main_connection.in_atomic_block:
            return self._loaded(version)
        with self._loads:
            found = self.latest  # of the thread that this thread has waited for
            return self._loaded(version) if found is None or not suits(found) else found

    def cached(self, suits: Callable[[T], bool] = lambda _: True) -> T | None:
        """Return the value if it suits: that of all threads, else that of this transaction."""
        found = self.latest
        if found is not None and suits(found):
            return found
        return self._uncommitted(suits) if main_connection.in_atomic_block else None

    def share(self, value: T, since: int) -> None:
        """Cache a value if it is newer; in a transaction after the commit.

        `since`: the number of clears when the load began. The value is dropped if the cache was
        cleared meanwhile.
        """
        if main_connection.in_atomic_block:
            on_commit(_Uncommitted(self, value, since), robust=True)
        else:
            self._publish(value, since)

    def grow(self, entries: dict[K, V], read: Mapping[K, V]) -> dict[K, V]:
        """Add entries to a dictionary of the value and return all; in a transaction a copy.

        Entries of a transaction are added after the commit. The cache is cleared when a dictionary
        has more than `most` entries.
        """
        if not main_connection.in_atomic_block:
            self._add(entries, read)
            return entries
        on_commit(partial(self._add, entries, read), robust=True)
        return {**entries, **read}

    def clear(self) -> None:
        """Drop the value; values whose load began before are not cached."""
        with self._guard:
            self.clears += 1
            self.latest = None

    def cache_clear(self) -> None:
        """Clear the cache under the name that `read_anew` calls."""
        self.clear()

    def _loaded(self, version: int | None) -> T:
        since = self.clears
        with reading_from(None):  # a replica may lack the wanted version
            value = self._load(version)
        if main_connection.in_atomic_block:
            self.share(value, since)
        else:  # the lock of loads is held: no later load has ended before this load
            self._replace(value, since)
        return value

    def _uncommitted(self, suits: Callable[[T], bool]) -> T | None:
        """Return the value of this transaction.

        It is stored with the callbacks of the commit, which Django drops when the transaction or
        the savepoint is rolled back.
        """
        for entry in main_connection.run_on_commit:
            callback = entry[1]
            if isinstance(callback, _Uncommitted) and callback.cache is self:
                if callback.since == self.clears and suits(callback.value):
                    found: T = callback.value
                    return found
                callback.since = -1  # outdated: a later value of the transaction replaces it
        return None

    def _publish(self, value: T, since: int) -> None:
        with self._guard:
            is_newer = self.latest is None or self.latest.version < value.version
            if is_newer and since == self.clears:
                self.latest = value

    def _replace(self, value: T, since: int) -> None:
        with self._guard:
            if since == self.clears:
                self.latest = value

    def _add(self, entries: dict[K, V], read: Mapping[K, V]) -> None:
        entries.update(read)
        if len(entries) > self.most:
            self.clear()


@dataclass(slots=True, eq=False)
class _Uncommitted(Generic[T]):
    """A value that a transaction has loaded; the commit calls it."""

    cache: VersionedCache[T]
    value: T
    since: int

    def __call__(self) -> None:
        self.cache._publish(self.value, self.since)
