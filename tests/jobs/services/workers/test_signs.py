"""Every request of a worker is a sign of life. Spec: contract 9.5, GS-17."""

from collections.abc import Callable
from datetime import datetime

import pytest

from jobs.conf import conf
from jobs.domain.access.caller import SYSTEM
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.events import Kind
from jobs.domain.states import State
from jobs.models import Event, Lease, Worker
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate import maintenance
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.progress import Progress, report
from jobs.services.outcome.reap import reap, reap_dead_workers
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from tests.asserts import assert_state, assert_store_is_sound
from tests.factories import error, stored_ids

pytestmark = pytest.mark.usefixtures("store")

WORKER = "w1"
LONG_MS = 3_600_000


def _fetch(queue: str = "default", count: int = 1, bound_to: str | None = None) -> list[str]:
    wanted = FetchRequest((queue,), count, WORKER, visibility_ms=LONG_MS, caller_tenant=bound_to)
    return [job.id for job in fetch(wanted).jobs]


def _held(number: int = 2) -> list[str]:
    """Let a worker send a heartbeat and claim jobs, and move both into the past."""
    heartbeat(Report(WORKER))
    stored_ids(number)
    held = _fetch(count=number)
    _pass_silence()
    return held


def _pass_silence() -> None:
    Worker.objects.filter(id=WORKER).update(last_heartbeat_at=ago(2 * conf().worker_silence_ms))
    Lease.objects.filter(worker_id=WORKER).update(started_at=ago(2 * conf().worker_silence_ms))


def _heard() -> datetime | None:
    return Worker.objects.get(id=WORKER).last_heartbeat_at


def _fetch_one_more(_held: list[str]) -> None:
    stored_ids(1)
    assert len(_fetch()) == 1


def _fetch_while_quiet(_held: list[str]) -> None:
    Worker.objects.filter(id=WORKER).update(reported=Standing.QUIET)
    assert _fetch() == []


def _fetch_in_maintenance(_held: list[str]) -> None:
    maintenance.start(SYSTEM, reason=None, duration_ms=None)
    assert _fetch() == []
    maintenance.end(SYSTEM)


SIGNS: dict[str, Callable[[list[str]], object]] = {
    "fetch": _fetch_one_more,
    "fetch of nothing": lambda _: _fetch("empty"),
    "fetch while quiet": _fetch_while_quiet,
    "fetch in maintenance": _fetch_in_maintenance,
    "ack": lambda held: ack([Ack(held[1])]),
    "fail": lambda held: nack([Nack(held[1], error())]),
    "requeue": lambda held: nack([Nack(held[1], None, requeue=True)]),
    "progress": lambda held: report(held[0], Progress(0.5)),
    "heartbeat": lambda _: heartbeat(Report(WORKER)),
}


@pytest.mark.parametrize("sign", SIGNS)
def test_a_worker_that_gave_a_sign_keeps_its_jobs(sign: str) -> None:
    held = _held()

    SIGNS[sign](held)
    reap_dead_workers()

    assert_state(State.ACTIVE, held[0])
    assert Worker.objects.get(id=WORKER).dead_at is None
    assert_store_is_sound()


def test_a_silent_worker_loses_its_jobs() -> None:
    held = _held()

    reap_dead_workers()

    assert_state(State.AVAILABLE, *held)


def test_a_worker_that_never_heartbeats_is_covered_by_its_leases_alone() -> None:
    stored_ids(2)
    held = _fetch(count=2)
    ack([Ack(held[1])])
    Lease.objects.filter(worker_id=WORKER).update(started_at=ago(LONG_MS))

    reap_dead_workers()

    assert _heard() is None
    assert_state(State.ACTIVE, held[0])


def test_a_sign_is_noted_once_in_a_while() -> None:
    heartbeat(Report(WORKER))
    first = _heard()
    held = stored_ids(1)

    _fetch()
    ack([Ack(held[0])])

    assert _heard() == first


def test_what_the_server_does_to_a_job_is_no_sign_of_its_worker() -> None:
    held = _held()
    before = _heard()
    Lease.objects.filter(id=held[0]).update(lease_until=ago(1))
    Lease.objects.filter(id=held[1]).update(timeout_at=ago(1))

    reap()

    assert _heard() == before


def test_a_dead_worker_that_fetches_lives_and_keeps_what_it_gets() -> None:
    _held(1)
    reap_dead_workers()
    told = Event.objects.filter(kind=Kind.WORKER_STARTED, worker_id=WORKER).count()

    again = _fetch()
    reap_dead_workers()

    assert_state(State.ACTIVE, *again)
    assert Worker.objects.get(id=WORKER).dead_at is None
    assert Event.objects.filter(kind=Kind.WORKER_STARTED, worker_id=WORKER).count() == told + 1


def test_death_takes_no_job_whose_lease_is_younger_than_the_silence() -> None:
    held = _held()
    Lease.objects.filter(id=held[0]).update(started_at=ago(conf().worker_silence_ms // 2))

    reap_dead_workers()

    assert_state(State.ACTIVE, held[0])
    assert_state(State.AVAILABLE, held[1])


def test_a_stopped_worker_stays_stopped() -> None:
    held = _held()
    heartbeat(Report(WORKER, standing=Standing.TERMINATE))
    _pass_silence()

    ack([Ack(held[0])])

    assert Worker.objects.get(id=WORKER).stopped_at is not None


def test_another_tenants_fetch_is_no_sign_of_the_worker() -> None:
    heartbeat(Report(WORKER, tenant="t1"))
    _pass_silence()
    before = _heard()

    _fetch(bound_to="t2")

    assert _heard() == before
