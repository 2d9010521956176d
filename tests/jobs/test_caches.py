"""The cache of a process: loads of several threads, transactions, versions, size."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Semaphore

import pytest
from django.db import transaction
from django.test import override_settings

from jobs import caches
from jobs.caches import VersionedCache
from tests.concurrency import DEADLINE_S, at_once, threads

THREADS = 4


@dataclass(frozen=True, slots=True)
class Value:
    version: int
    entries: dict[str, int] = field(default_factory=dict)


class Source:
    """The stored configuration: `version` is the latest, each load is counted."""

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.loads = 0

    def load(self, _: int | None) -> Value:
        self.loads += 1
        return Value(self.version)


class SlowSource(Source):
    """A source whose loads have read the version and then wait until `go` is set."""

    def __init__(self, version: int = 1) -> None:
        super().__init__(version)
        self.has_begun, self.go = Event(), Event()

    def load(self, wanted: int | None) -> Value:
        found = super().load(wanted)
        self.has_begun.set()
        assert self.go.wait(DEADLINE_S)
        return found


class Unreadable(Exception):
    """A load that fails."""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no cache of a test among the caches of the process."""
    monkeypatch.setattr(caches, "_registered", [])


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def cache(source: Source) -> VersionedCache[Value]:
    return VersionedCache(source.load)


@pytest.fixture
def slow() -> Iterator[SlowSource]:
    found = SlowSource()
    yield found
    found.go.set()


def test_current_loads_once(source: Source, cache: VersionedCache[Value]) -> None:
    assert cache.current() is cache.current() is cache.current(1)
    assert source.loads == 1


def test_current_of_a_later_version_loads_again(
    source: Source, cache: VersionedCache[Value]
) -> None:
    cache.current()
    source.version = 3

    assert cache.current().version == 1
    assert cache.current(2).version == 3
    assert cache.current(1).version == 3
    assert source.loads == 2


def test_obtain_loads_another_value_even_if_its_version_is_lower(
    source: Source, cache: VersionedCache[Value]
) -> None:
    """A restored database has a lower configuration version."""
    source.version = 9
    cache.current()
    source.version = 2

    assert cache.obtain(lambda found: found.version == 2).version == 2
    assert cache.current().version == 2


def test_a_load_that_fails_caches_nothing_and_frees_the_lock() -> None:
    def fail(_: int | None) -> Value:
        if answers:
            return answers.pop()
        raise Unreadable

    answers: list[Value] = []
    cache = VersionedCache(fail)
    with pytest.raises(Unreadable):
        cache.current()
    answers.append(Value(1))

    assert cache.current().version == 1


# --- threads ---


def test_threads_that_find_no_fitting_value_load_it_once(slow: SlowSource) -> None:
    slow.version = 2
    cache = VersionedCache(slow.load)
    cache.latest = Value(1)  # outdated
    looked = Semaphore(0)

    def is_latest(found: Value) -> bool:
        looked.release()
        return found.version == 2

    with threads(THREADS) as start:
        results = [start(partial(cache.obtain, is_latest)) for _ in range(THREADS)]
        for _ in range(THREADS):  # each thread has seen the outdated value before it loads
            assert looked.acquire(timeout=DEADLINE_S)
        slow.go.set()
        found = [result.result() for result in results]

    assert slow.loads == 1
    assert all(one is cache.latest for one in found)


def test_a_version_that_moves_during_a_load_is_loaded_again(slow: SlowSource) -> None:
    cache = VersionedCache(slow.load)
    with threads(2) as start:
        older = start(cache.current)
        assert slow.has_begun.wait(DEADLINE_S)
        slow.version = 2
        newer = start(partial(cache.current, 2))
        slow.go.set()

        assert older.result().version == 1
        assert newer.result().version == 2
    assert cache.current().version == 2


def test_a_value_whose_load_began_before_a_clear_is_not_cached(slow: SlowSource) -> None:
    cache = VersionedCache(slow.load)
    with threads(1) as start:
        result = start(cache.current)
        assert slow.has_begun.wait(DEADLINE_S)
        cache.clear()
        slow.go.set()
        assert result.result().version == 1

    assert cache.latest is None
    cache.current()
    assert slow.loads == 2


@pytest.mark.usefixtures("store")
def test_a_transaction_waits_for_no_load_of_another_thread(slow: SlowSource) -> None:
    """The transaction may hold rows for which the other thread waits."""
    own = Source()

    def load(wanted: int | None) -> Value:
        return own.load(wanted) if slow.has_begun.is_set() else slow.load(wanted)

    cache = VersionedCache(load)
    with threads(1) as start:
        other = start(cache.current)
        assert slow.has_begun.wait(DEADLINE_S)
        with transaction.atomic():
            cache.current()
        slow.go.set()
        other.result()

    assert (slow.loads, own.loads) == (1, 1)


def test_clears_and_loads_of_many_threads_end_with_the_latest_version() -> None:
    source = Source()
    cache = VersionedCache(source.load)

    def renew() -> int:
        for _ in range(200):
            cache.clear()
            assert cache.current().version == 1
        return cache.current().version

    assert at_once([renew] * THREADS) == [1] * THREADS
    assert cache.current().version == 1


# --- transactions ---


@pytest.mark.usefixtures("store")
def test_a_value_of_a_transaction_is_cached_after_the_commit(
    source: Source, cache: VersionedCache[Value]
) -> None:
    with transaction.atomic():
        found = cache.current()
        assert cache.current() is found
        assert cache.latest is None

    assert cache.latest is found
    assert source.loads == 1


@pytest.mark.usefixtures("store")
def test_a_value_of_a_transaction_that_is_rolled_back_is_not_cached(
    source: Source, cache: VersionedCache[Value]
) -> None:
    with transaction.atomic():
        source.version = 2
        assert cache.current().version == 2
        transaction.set_rollback(True)
    source.version = 1

    assert cache.latest is None
    assert cache.current().version == 1


@pytest.mark.usefixtures("store")
def test_a_value_of_a_savepoint_that_is_rolled_back_is_loaded_again(
    source: Source, cache: VersionedCache[Value]
) -> None:
    with transaction.atomic():
        with transaction.atomic():
            cache.current()
            transaction.set_rollback(True)
        cache.current()

    assert source.loads == 2
    assert cache.latest is not None


@pytest.mark.usefixtures("store")
def test_a_transaction_that_reads_a_later_version_caches_the_later_value(
    source: Source, cache: VersionedCache[Value]
) -> None:
    with transaction.atomic():
        cache.current(1)
        source.version = 2
        assert cache.current(2).version == 2
        assert cache.current().version == 2

    assert cache.current().version == 2
    assert source.loads == 2


@pytest.mark.usefixtures("store")
def test_a_commit_replaces_no_newer_value(source: Source, cache: VersionedCache[Value]) -> None:
    with transaction.atomic():
        cache.current()
        source.version = 2
        with threads(1) as start:
            newer = start(partial(cache.current, 2)).result()

    assert cache.latest is newer


@pytest.mark.usefixtures("store")
def test_a_clear_in_a_transaction_drops_its_value(
    source: Source, cache: VersionedCache[Value]
) -> None:
    with transaction.atomic():
        cache.current()
        cache.clear()
        cache.current()
        cache.clear()

    assert cache.latest is None
    assert source.loads == 2


def test_share_keeps_the_newest_value(cache: VersionedCache[Value]) -> None:
    newest = Value(5)
    cache.share(newest, cache.clears)
    cache.share(Value(4), cache.clears)

    assert cache.latest is newest


def test_share_after_a_clear_keeps_nothing(cache: VersionedCache[Value]) -> None:
    since = cache.clears
    cache.clear()
    cache.share(Value(1), since)

    assert cache.latest is None


# --- entries ---


def test_entries_grow_in_place(cache: VersionedCache[Value]) -> None:
    found = cache.current()

    assert cache.grow(found.entries, {"a": 1}) is found.entries
    assert cache.current().entries == {"a": 1}


@pytest.mark.usefixtures("store")
def test_entries_of_a_transaction_are_added_after_the_commit(cache: VersionedCache[Value]) -> None:
    found = cache.current()
    with transaction.atomic():
        assert cache.grow(found.entries, {"a": 1}) == {"a": 1}
        assert found.entries == {}

    assert found.entries == {"a": 1}


@pytest.mark.usefixtures("store")
def test_entries_of_a_transaction_that_is_rolled_back_are_dropped(
    cache: VersionedCache[Value],
) -> None:
    found = cache.current()
    with transaction.atomic():
        cache.grow(found.entries, {"a": 1})
        transaction.set_rollback(True)

    assert found.entries == {}


def test_a_cache_with_too_many_entries_starts_anew(source: Source) -> None:
    cache = VersionedCache(source.load, most=2)
    entries = cache.grow(cache.current().entries, {"a": 1, "b": 2})
    assert cache.current().entries == entries

    assert cache.grow(entries, {"c": 3}) == {"a": 1, "b": 2, "c": 3}  # the caller has its entries

    assert cache.current().entries == {}


# --- clear ---


def test_clear_all_clears_each_cache_and_calls_each_registered_function(source: Source) -> None:
    called = []
    caches.register(lambda: called.append("lanes"))
    several = [VersionedCache(source.load) for _ in range(2)]
    for one in several:
        one.current()

    caches.clear_all()

    assert [one.latest for one in several] == [None, None]
    assert called == ["lanes"]


def test_a_change_of_the_setting_clears_the_cache(source: Source) -> None:
    cache = VersionedCache(source.load, setting="OJS_TENANCY")
    cache.current()
    with override_settings(OJS_WEBHOOKS={}):
        assert cache.latest is not None

    with override_settings(OJS_TENANCY={}):
        assert cache.latest is None
