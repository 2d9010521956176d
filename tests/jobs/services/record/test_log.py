"""Log lines for the life of jobs and workers, from the event record. Spec: contract 32.5."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from jobs import queries
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Event, Later, Lease, LogPosition, LoopTick, Progress, Ready, Worker
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.expire import expire
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.progress import Progress as Reported
from jobs.services.outcome.progress import report
from jobs.services.outcome.promote import promote
from jobs.services.outcome.reap import reap, reap_dead_workers
from jobs.services.outcome.retain import Retainer
from jobs.services.outcome.stall import stall
from jobs.services.record.aggregate import aggregate_events
from jobs.services.record.log import ABSENT_MS, LOOP, log
from jobs.services.record.unread import unread
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from ojs_project.logs import JsonFormatter
from tests.concurrency import wait_until_complete
from tests.factories import DraftFactory, JobFactory, error, stored, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

LOGGER = "ojs.lifecycle"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HIDDEN = "do-not-log-this"
Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[Lines]:
    """Return a function that writes due lines at any level and returns the new lines."""
    formatter = JsonFormatter()

    def written() -> list[dict[str, Any]]:
        caplog.clear()
        write()
        return [orjson.loads(formatter.format(one)) for one in of_jobs(caplog)]

    with caplog.at_level(logging.DEBUG, LOGGER):
        log()  # the first run ever only stores the start position
        yield written


def write(batch: int = 1000) -> int:
    """Write all due lines; return the number of events that were read."""
    wait_until_complete()
    total = 0
    while read := log(batch):
        total += read
    return total


def of_jobs(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return the log records of the logger for job events."""
    return [one for one in caplog.records if one.name == LOGGER]


def lines_of(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return names and severities."""
    return [(line["message"], line["severity"]) for line in found]


def active(worker_id: str | None = None, **members: Any) -> str:
    """Return the id of an active job."""
    return JobFactory.create(state=State.ACTIVE, worker_id=worker_id, **members).id


@spec("contract 32.5")
def test_an_enqueued_job_is_logged_with_all_that_is_known(lines: Lines) -> None:
    draft = DraftFactory.create(
        type="mail.send", queue="mail", args=[HIDDEN], priority=5, meta={"traceparent": PARENT}
    )
    (job,) = enqueue([draft], Caller("test", request_id="req-1"))
    assert job is not None

    (line,) = lines()
    at = line.pop("timestamp")
    assert at.endswith("Z")
    assert len(at) == len("2026-01-01T00:00:00.000Z")
    assert line == {
        "severity": "INFO",
        "severity_number": 9,
        "message": "job.enqueued",
        "component": "server",
        "category": "lifecycle",
        "ojs.job_id": job.id,
        "ojs.job_type": "mail.send",
        "ojs.queue": "mail",
        "ojs.attempt": 0,
        "ojs.state": "available",
        "request_id": "req-1",
        "trace.trace_id": PARENT[3:35],
        "trace.span_id": PARENT[36:52],
        "attributes": {"logger": LOGGER, "priority": 5},
    }


@spec("contract 32.5")
def test_the_time_of_a_line_is_that_of_the_event(lines: Lines) -> None:
    job = JobFactory.create()
    Event.objects.filter(job_id=job.id).update(at=ago(60_000))

    (line,) = lines()

    at = Event.objects.get(job_id=job.id).at
    assert line["timestamp"] == f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


@spec("contract 32.5")
def test_a_job_that_is_done_is_enqueued_fetched_and_completed(lines: Lines) -> None:
    job_id = active("w1")
    ack([Ack(job_id, orjson.dumps(HIDDEN))])

    found = lines()

    assert lines_of(found) == [
        ("job.enqueued", "INFO"), ("job.started", "DEBUG"), ("job.completed", "INFO")
    ]  # fmt: skip
    assert {line["ojs.job_id"] for line in found} == {job_id}
    assert {line["category"] for line in found} == {"lifecycle"}
    assert [line["ojs.state"] for line in found] == ["available", "active", "completed"]
    assert found[1]["ojs.worker_id"] == "w1"
    assert found[1]["attributes"].keys() == {"logger", "wait_ms"}
    assert found[2]["attributes"].keys() == {"logger", "duration_ms", "wait_ms"}


@spec("contract 32.5")
def test_a_scheduled_job_is_told_and_enqueued_when_it_is_due(lines: Lines) -> None:
    (job,) = stored(1, scheduled_at="+PT1H")

    (line,) = lines()

    assert lines_of([line]) == [("job.scheduled", "INFO")]
    assert line["attributes"]["scheduled_at"]
    Later.objects.filter(id=job.id).update(due_at=ago(1))
    promote()
    assert lines_of(lines()) == [("job.enqueued", "INFO")]


@spec("contract 32.5")
def test_a_cancelled_job(lines: Lines) -> None:
    job = JobFactory.create()
    lines()

    cancel(job.id)

    (line,) = lines()
    assert lines_of([line]) == [("job.cancelled", "INFO")]
    assert (line["category"], line["ojs.state"]) == ("lifecycle", "cancelled")


@spec("contract 32.5")
def test_a_failed_attempt_that_is_retried(lines: Lines) -> None:
    job_id = active()
    lines()

    nack([Nack(job_id, error(type="ValueError", message=HIDDEN))])

    (line,) = lines()
    assert lines_of([line]) == [("job.retrying", "WARN")]
    assert (line["severity_number"], line["category"]) == (13, "error")
    assert (line["ojs.attempt"], line["ojs.state"]) == (1, "retryable")
    attributes = line["attributes"]
    assert attributes.keys() == {
        "logger", "max_attempts", "next_retry_at", "error_type", "error_code"
    }  # fmt: skip
    assert (attributes["error_type"], attributes["error_code"]) == ("ValueError", "handler_error")


@spec("contract 32.5")
def test_a_discarded_job(lines: Lines) -> None:
    job_id = active()
    lines()

    nack([Nack(job_id, error(retryable=False))])

    (line,) = lines()
    assert lines_of([line]) == [("job.discarded", "ERROR")]
    assert (line["severity_number"], line["category"]) == (17, "error")
    assert line["ojs.state"] == "discarded"
    assert line["attributes"]["dead_letter"] is False


@spec("contract 32.5")
def test_an_expired_job(lines: Lines) -> None:
    (job,) = stored(1, expires_at="+PT1H")
    Ready.objects.filter(id=job.id).update(expires_at=ago(1))
    lines()

    expire()

    assert lines_of(lines()) == [("job.expired", "ERROR")]


@spec("contract 32.5")
def test_an_attempt_that_took_too_long(lines: Lines) -> None:
    job_id = active(timeout=1)
    Lease.objects.filter(id=job_id).update(timeout_at=ago(1000))
    lines()

    reap()

    found = lines()
    assert lines_of(found) == [("job.timeout", "ERROR"), ("job.retrying", "WARN")]
    assert found[0]["ojs.state"] == "active"
    assert found[0]["attributes"].keys() == {"logger", "duration_ms", "error_type", "error_code"}


@spec("contract 32.5")
def test_an_attempt_whose_lease_ended(lines: Lines) -> None:
    job_id = active()
    Lease.objects.filter(id=job_id).update(lease_until=ago(1000))
    lines()

    reap()

    found = lines()
    assert lines_of(found) == [("job.stalled", "ERROR"), ("job.retrying", "WARN")]
    assert found[1]["ojs.state"] == "available"


@spec("contract 32.5")
def test_an_attempt_whose_worker_fell_silent(lines: Lines) -> None:
    heartbeat(Report("w1"))
    active("w1")
    Worker.objects.update(last_heartbeat_at=ago(3_600_000))
    Lease.objects.update(started_at=ago(3_600_000))
    lines()

    reap_dead_workers()

    assert lines_of(lines()) == [
        ("worker.stopped", "INFO"), ("job.stalled", "ERROR"), ("job.retrying", "WARN")
    ]  # fmt: skip


@spec("contract 32.5")
def test_an_attempt_whose_progress_stopped(lines: Lines) -> None:
    job_id = active()
    report(job_id, Reported(0.5, HIDDEN))
    Progress.objects.update(updated_at=ago(3_600_000), told_at=ago(3_600_000))
    lines()

    stall()

    (line,) = lines()
    assert lines_of([line]) == [("progress.stalled", "ERROR")]
    assert line["attributes"]["progress_percent"] == 50


@spec("contract 32.5")
def test_workers_start_drain_and_stop(lines: Lines) -> None:
    heartbeat(Report("w1", queues=("mail",), concurrency=3))
    heartbeat(Report("w1", Standing.QUIET, active_jobs=1))
    heartbeat(Report("w1", Standing.TERMINATE))

    found = [line for line in lines() if line["severity"] != "DEBUG"]

    assert lines_of(found) == [
        ("worker.started", "INFO"), ("worker.quiet", "INFO"), ("worker.stopped", "INFO")
    ]  # fmt: skip
    assert {(one["category"], one["ojs.worker_id"]) for one in found} == {("worker", "w1")}
    assert found[0]["attributes"] == {"logger": LOGGER, "queues": ["mail"], "concurrency": 3}
    assert "ojs.state" not in found[0]


@spec("contract 32.5")
def test_a_worker_that_ends_with_jobs_in_hand_drains_until_they_are_done(
    lines: Lines,
) -> None:
    heartbeat(Report("w1"))
    for jobs in (2, 1, 0):
        heartbeat(Report("w1", Standing.TERMINATE, active_jobs=jobs))

    found = [line for line in lines() if line["severity"] != "DEBUG"]

    assert [line["message"] for line in found] == [
        "worker.started", "worker.quiet", "worker.stopped"
    ]  # fmt: skip


@spec("contract 32.5")
def test_heartbeats_have_lines_at_debug_alone(
    lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat(Report("w1"))
    job_id = active("w1")
    lines()

    heartbeat(Report("w1", active_ids=(job_id,)))
    found = lines()
    with caplog.at_level(logging.INFO, LOGGER):
        before = Event.objects.count()
        heartbeat(Report("w1", active_ids=(job_id,)))
        assert Event.objects.count() == before

    assert lines_of(found) == [("job.heartbeat", "DEBUG"), ("worker.heartbeat", "DEBUG")]
    assert found[0]["ojs.job_id"] == job_id
    assert found[0]["attributes"]["visible_until"]


@spec("contract 32.5")
def test_jobs_of_tenants_and_pools_are_told_with_them(lines: Lines) -> None:
    stored(1, meta={"tenant_id": "acme"})
    fetch(FetchRequest(("default",), worker_id="w1", pool="fast"))
    Event.objects.filter(kind=3).update(pool="fast")

    found = lines()

    assert {line["ojs.tenant_id"] for line in found} == {"acme"}
    assert [line.get("ojs.pool") for line in found] == [None, "fast"]


@spec("contract 32.5")
def test_arguments_results_and_messages_of_errors_are_in_no_line(
    lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    hidden: dict[str, Any] = {
        "args": [HIDDEN],
        "meta": {"data_classification": "restricted", "note": HIDDEN},
    }
    first, second = active(type="a.b", **hidden), active(type="c.d", queue="other", **hidden)
    ack([Ack(first, orjson.dumps({"found": HIDDEN}))])
    nack([Nack(second, error(message=HIDDEN, details={"given": HIDDEN}, backtrace=[HIDDEN]))])

    found = lines()

    assert len(found) == 6
    assert HIDDEN not in str(found)
    assert HIDDEN not in str([one.__dict__ for one in of_jobs(caplog)])


@pytest.mark.parametrize(
    ("level", "wanted"),
    [
        (logging.DEBUG, {"job.enqueued", "job.started", "job.retrying", "job.discarded"}),
        (logging.INFO, {"job.enqueued", "job.retrying", "job.discarded"}),
        (logging.WARNING, {"job.retrying", "job.discarded"}),
        (logging.ERROR, {"job.discarded"}),
    ],
)
@spec("contract 32.5")
def test_lines_below_the_level_are_not_read(
    level: int, wanted: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(level, LOGGER):
        log()
        nack([Nack(active(), error())])
        nack([Nack(active(queue="other"), error(retryable=False))])

        assert write() > 0

    assert {one.getMessage() for one in of_jobs(caplog)} == wanted


@spec("contract 32.5")
def test_a_level_without_lines_keeps_no_place(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, LOGGER):
        log()
    assert LogPosition.objects.exists()

    with caplog.at_level(logging.CRITICAL, LOGGER):
        assert log() == 0
        assert not LogPosition.objects.exists()
        stored(3)
        assert write() == 0

    with caplog.at_level(logging.INFO, LOGGER):  # starts with events from now on
        log()
        stored(1)
        write()
    assert len(of_jobs(caplog)) == 1


@spec("contract 32.5")
def test_each_event_is_logged_once_in_order_whatever_the_batch(
    lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    ids = stored_ids(7)
    caplog.clear()
    assert write(batch=3) == 7
    assert write(batch=3) == 0

    assert [one.__dict__["job_id"] for one in of_jobs(caplog)] == ids
    assert lines() == []


@spec("contract 32.5")
def test_what_may_still_get_an_event_before_it_waits(lines: Lines) -> None:
    stored(1)
    wait_until_complete()
    place = LogPosition.objects.get()
    assert log() == 1
    # as after the kill of a writer here
    LogPosition.objects.update(stamp=place.stamp, seq=place.seq)

    assert lines_of(lines()) == [("job.enqueued", "INFO")]


@pytest.fixture
def sampled(settings: Any) -> Callable[[float], None]:
    """Return a function that sets the fraction of jobs with ordinary lines."""

    def change(part: float) -> None:
        settings.OJS = {**settings.OJS, "LOG_SAMPLE": part}

    return change


@spec("contract 32.5")
def test_a_sample_has_all_lines_of_its_jobs(lines: Lines, sampled: Callable[[float], None]) -> None:
    sampled(0.5)
    ids = stored_ids(200)
    claimed = fetch(FetchRequest(("default",), count=200)).jobs
    ack([Ack(job.id) for job in claimed])

    by_job: dict[str, list[str]] = {}
    for line in lines():
        by_job.setdefault(line["ojs.job_id"], []).append(line["message"])

    assert by_job.keys() < set(ids)
    assert 50 < len(by_job) < 150
    whole = ["job.enqueued", "job.started", "job.completed"]
    assert list(by_job.values()) == [whole] * len(by_job)


@spec("contract 32.5")
def test_errors_warnings_and_workers_are_always_logged(
    lines: Lines, sampled: Callable[[float], None]
) -> None:
    sampled(0.0)
    heartbeat(Report("w1"))
    retried, dead = active("w1"), active("w1", queue="other")
    nack([Nack(retried, error())])
    nack([Nack(dead, error(retryable=False))])

    found = [line for line in lines() if line["severity"] != "DEBUG"]

    assert lines_of(found) == [
        ("worker.started", "INFO"), ("job.retrying", "WARN"), ("job.discarded", "ERROR")
    ]  # fmt: skip


@spec("contract 32.5")
def test_retention_waits_for_lines_while_somebody_writes_them(lines: Lines) -> None:
    JobFactory.create()
    wait_until_complete()
    aggregate_events()  # the first run ever only stores the start position
    while aggregate_events():
        pass
    Event.objects.update(at=ago(8 * 86_400_000))
    queries.tick(LOOP)

    assert (Retainer()(), unread()) == (0, 1)

    LoopTick.objects.update(ticked_at=ago(ABSENT_MS + 1000))  # no process runs the loop any more
    assert unread() == 0
    assert Retainer()() == 1
    assert lines() == []
