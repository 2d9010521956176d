"""Health of the server. Spec: contract 3.8, 32.1."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.db.models.functions import Now

from jobs import bounds, queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.extensions import Loop
from jobs.gather import now
from jobs.loops import LoopRunner, all_loops
from jobs.models import LoopTick, Worker
from jobs.services.dispatch.fetch import fetch
from jobs.services.health import health as module
from jobs.services.health.health import health, is_migrated
from jobs.services.storage import schema
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from jobs.trips import Trip
from tests.processes import until
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

Fall = Callable[..., None]


@pytest.fixture(autouse=True)
def ticking(store: None) -> Iterator[None]:
    """Record a tick of every loop."""
    LoopTick.objects.all().delete()
    for loop in all_loops():
        queries.tick(loop.name)
    yield
    LoopTick.objects.all().delete()


def heard_of(worker_id: str, ago: timedelta = timedelta(0), *, dead: bool = False) -> None:
    """Store a worker whose last heartbeat was some time ago."""
    heartbeat(Report(worker_id))
    Worker.objects.filter(id=worker_id).update(last_heartbeat_at=Now() - ago)
    if dead:
        queries.bury(1, 100)


SILENT = timedelta(seconds=60)
LONG_AGO = timedelta(minutes=6)


def test_health_of_an_idle_server_is_well() -> None:
    found = health()

    assert found.is_well
    assert found.error is None
    assert found.latency_ms >= 1


def test_health_with_a_stopped_loop_is_not_well() -> None:
    LoopTick.objects.filter(name="promote").update(ticked_at=Now() - timedelta(seconds=16))

    assert not health().is_ticking
    assert not health().is_well


def test_health_without_any_loop_is_not_well() -> None:
    LoopTick.objects.all().delete()

    assert not health().is_well


def test_health_counts_silent_workers_and_is_well_with_them() -> None:
    """Check that silent workers leave the health good.

    Health covers the acceptance and the storage of jobs, not the workers. ADR 23.
    """
    heard_of("w1", SILENT)
    heard_of("w2", SILENT, dead=True)
    heard_of("w3")

    vitals = health().vitals

    assert vitals is not None
    assert (vitals.workers, vitals.alive) == (3, 1)
    assert health().is_well


def test_health_forgets_a_worker_that_is_silent_for_long() -> None:
    heard_of("w1", LONG_AGO, dead=True)

    vitals = health().vitals

    assert vitals is not None
    assert (vitals.workers, vitals.alive) == (0, 0)
    assert health().is_well


def test_health_does_not_miss_a_worker_that_stopped_or_only_fetches() -> None:
    heartbeat(Report("stopped", Standing.TERMINATE))
    fetch(FetchRequest(("default",), worker_id="fetches"))

    vitals = health().vitals

    assert vitals is not None
    assert (vitals.workers, vitals.alive) == (0, 0)
    assert health().is_well


@spec("GS-18")
def test_a_draining_worker_does_not_change_health() -> None:
    heartbeat(Report("w1", Standing.QUIET, active_jobs=1))

    assert health().is_well


def test_health_of_a_slow_database_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLOW_MS", 0)

    assert health().is_slow
    assert not health().is_well


def test_a_shared_health_check_bounds_its_wait_for_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound: list[float | None] = []

    def finish() -> queries.Vitals:
        bound.append(bounds.answer_s(None))
        raise OperationalError

    monkeypatch.setattr(queries, "begin_vitals", lambda *_: Trip(None, finish))
    monkeypatch.setattr(module, "is_usable", lambda: True)

    assert now(module.health_soon()).error == "OperationalError"
    assert bound == [module.PROBE_S]


def test_health_without_a_database_names_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: int) -> None:
        raise OperationalError

    monkeypatch.setattr(queries, "vitals", fail)

    found = health()

    assert (found.error, found.vitals, found.is_well) == ("OperationalError", None, False)


def test_a_loop_that_no_longer_exists_is_forgotten_by_the_next_leader() -> None:
    LoopTick.objects.create(name="demo", ticked_at=Now() - timedelta(days=1))
    assert not health().is_well
    runner = LoopRunner([Loop("promote", lambda: 0, 10)])
    runner.start()

    until(lambda: health().is_well, "health")

    runner.stop()


def test_tables_of_this_release_are_noticed() -> None:
    module._nothing_is_lacking.cache_clear()

    assert is_migrated()


def test_what_is_lacking_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module._nothing_is_lacking.cache_clear()
    answers: list[type[Exception] | list[str]] = [OperationalError, ["table ojs_job"], []]

    def lacks() -> list[str]:
        answer = answers.pop(0)
        if isinstance(answer, list):
            return answer
        raise answer

    monkeypatch.setattr(schema, "lacking", lacks)

    assert [is_migrated() for _ in range(4)] == [None, False, True, True]
    assert answers == []


def test_what_is_lacking_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module._nothing_is_lacking.cache_clear()
    module._warn.cache_clear()
    monkeypatch.setattr(schema, "lacking", lambda: ["table ojs_job", "function ojs_claim_jobs"])

    assert [module.lacking() for _ in range(3)] == ["table ojs_job, function ojs_claim_jobs"] * 3

    told = [vars(record)["parts"] for record in caplog.records if record.msg == "schema.lacking"]
    assert told == ["table ojs_job, function ojs_claim_jobs"]
