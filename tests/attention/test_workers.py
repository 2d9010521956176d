"""Rules about workers: gone, stuck; the calm case of each."""

from datetime import timedelta

import pytest
from django.db.models import F

from attention.domain.rule import Severity
from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Lease, Total, Worker
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.attention.incidents import aggregated, found
from tests.factories import stored

pytestmark = pytest.mark.usefixtures("store")

MINUTE_MS = 60_000


def fleet(number: int, minutes: int = 30, name: str = "w") -> None:
    """Let workers be alive since some minutes."""
    for n in range(number):
        heartbeat(Report(f"{name}{n}", queues=("q",), hostname="host-1"))
    Worker.objects.filter(id__startswith=name).update(started_at=ago(minutes * MINUTE_MS))


def die(*names: str, minutes: int = 5) -> None:
    """Let workers have been silent for some minutes."""
    Worker.objects.filter(id__in=names).update(last_heartbeat_at=ago(minutes * MINUTE_MS))


def test_workers_that_fell_silent_are_found_since_too_few_are_left() -> None:
    fleet(9)
    for n in range(1, 9):
        die(f"w{n}", minutes=n + 1)

    (one,) = found("workers_gone")

    assert one.rule.text(one.hit) == "8 of 9 workers are gone."
    assert one.rule.cause(one.hit) == (
        "8 workers fell silent: killed, or cut off from the server. "
        "Most of them ran on host host-1."
    )
    # with the fifth of them four were left, less than half of nine
    assert one.hit.since == Worker.objects.get(id="w4").last_heartbeat_at
    assert one.severity is Severity.WARNING


def test_workers_that_are_gone_are_critical_while_jobs_wait() -> None:
    fleet(4)
    die("w0", "w1", "w2")
    stored(2, queue="q")
    aggregated()

    (one,) = found("workers_gone")

    assert (one.hit.jobs, one.severity) == (2, Severity.CRITICAL)


def test_a_deployment_that_replaces_workers_is_calm() -> None:
    fleet(4, name="old")
    fleet(4, minutes=4, name="new")
    Worker.objects.filter(id__startswith="old").update(
        stopped_at=ago(3 * MINUTE_MS), last_heartbeat_at=ago(3 * MINUTE_MS)
    )

    assert found("workers_gone") == []


def test_only_the_workers_that_are_missing_count() -> None:
    fleet(9, name="old")
    fleet(10, minutes=20, name="new")
    Worker.objects.filter(id__startswith="old").update(last_heartbeat_at=ago(25 * MINUTE_MS))
    Worker.objects.filter(id__in=[f"new{n}" for n in range(7)]).update(
        last_heartbeat_at=ago(3 * MINUTE_MS)
    )

    (one,) = found("workers_gone")

    assert (one.hit.facts["usual"] - one.hit.facts["live"], one.hit.facts["died"]) == (7, 7)


def test_a_single_worker_or_half_of_a_fleet_that_lives_is_calm() -> None:
    fleet(1, name="only")
    die("only0")
    assert found("workers_gone") == []
    Worker.objects.all().delete()
    fleet(5)
    die("w0", "w1")

    assert found("workers_gone") == []


def running(worker: str, minutes: float, job_type: str = "mail", jobs: int = 2) -> None:
    """Let a live worker hold jobs that started some minutes ago."""
    heartbeat(Report(worker, queues=(worker,), hostname="host-1", concurrency=2))
    stored(jobs, type=job_type, queue=worker)
    fetch(FetchRequest((worker,), count=jobs, worker_id=worker))
    heartbeat(Report(worker, queues=(worker,), hostname="host-1", concurrency=2))
    started = F("started_at") - timedelta(minutes=minutes)
    Lease.objects.filter(worker_id=worker).update(started_at=started)


def usually(worker: str, run_ms: int, job_type: str = "mail") -> None:
    """Store how long jobs of a type usually run."""
    Total.objects.create(queue=worker, type=job_type, tenant="", completed=10, run_ms=10 * run_ms)


def test_a_worker_of_which_no_job_ends_is_found_with_its_directive() -> None:
    running("w", minutes=20)
    usually("w", 1_000)

    (one,) = found("worker_stuck")

    assert (one.hit.subject, one.hit.jobs, one.hit.tenants) == ("w", 2, 1)
    late = max(lease.started_at for lease in Lease.objects.all()) + timedelta(seconds=900)
    assert one.hit.since == late
    assert [remedy.action for remedy in one.rule.remedies(one.hit)][:2] == [
        "terminate", "evict-worker",
    ]  # fmt: skip


def test_a_worker_is_calm_while_a_job_is_new_or_usually_takes_long() -> None:
    running("w", minutes=20)
    usually("w", 1_000)
    first = Lease.objects.order_by("id")[0]
    Lease.objects.filter(id=first.id).update(started_at=ago(1_000))
    running("long", minutes=20, job_type="report")
    usually("long", 10 * MINUTE_MS, job_type="report")
    running("unknown", minutes=20, job_type="import")

    assert found("worker_stuck") == []

    Lease.objects.update(started_at=F("started_at") - timedelta(hours=1))
    assert {one.hit.subject for one in found("worker_stuck")} == {"w", "long", "unknown"}
