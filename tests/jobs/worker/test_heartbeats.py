"""The heartbeats of a worker process."""

import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from jobs.domain.job import Job
from jobs.models import Worker
from jobs.services.workers.heartbeat import Answer, Report, Standing
from jobs.worker import heartbeats as module
from jobs.worker.answers import acker
from jobs.worker.config import WorkerConfig
from jobs.worker.heartbeats import Heartbeats
from jobs.worker.returns import Returns
from ojs_tasks import Context
from ojs_tasks.worker.directives import Directives
from ojs_tasks.worker.in_flight import InFlight
from ojs_tasks.worker.waits import Waits
from tests.processes import DEADLINE_S, until
from tests.spec import spec

RUNNING, QUIET, TERMINATE = Standing
CONFIG = WorkerConfig("w1", ("tests",), 1)


class Process:
    """The parts of a worker process that heartbeats use."""

    def __init__(self) -> None:
        """Begin with no job."""
        self.waits = Waits()
        self.directives = Directives(self.waits)
        self.in_flight = InFlight(1, lambda: None)
        self.returns = Returns("w1", self.in_flight, acker())
        self.heartbeats = Heartbeats(
            CONFIG, self.in_flight, self.directives, waits=self.waits, returns=self.returns
        )


@pytest.fixture
def process() -> Process:
    """Return a process without threads."""
    return Process()


class Server:
    """Takes reports, and answers with a directive and cancelled jobs."""

    def __init__(self) -> None:
        """Begin with the directive to run."""
        self.reports: list[Report] = []
        self.answer: dict[str, Any] = {"standing": RUNNING, "cancelled": []}
        self.failures = 0

    def __call__(self, report: Report) -> Answer:
        """Keep a report."""
        self.reports.append(report)
        if len(self.reports) <= self.failures:
            raise RuntimeError
        return Answer(extended=[], server_time=datetime(2026, 1, 1, tzinfo=UTC), **self.answer)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """Take the place of the server."""
    made = Server()
    monkeypatch.setattr(module, "heartbeat", made)
    return made


@pytest.mark.usefixtures("store")
def test_a_heartbeat_stores_the_worker_and_makes_it_known(process: Process) -> None:
    process.heartbeats.send()

    assert process.directives.is_registered
    assert Worker.objects.get(id="w1").concurrency == 1


@pytest.mark.parametrize(
    ("own", "is_holding", "reported"),
    [
        (RUNNING, True, RUNNING),
        (QUIET, False, QUIET),
        (TERMINATE, True, QUIET),  # it still answers for its jobs
        (TERMINATE, False, TERMINATE),
    ],
)
def test_a_report_names_the_own_directive_and_the_held_jobs(
    process: Process, server: Server, job: Job, own: Standing, is_holding: bool, reported: Standing
) -> None:
    process.directives.own = own
    if is_holding:
        process.in_flight.add([Context(job, "w1")])

    process.heartbeats.send()

    (report,) = server.reports
    assert report.standing is reported
    assert report.active_ids == ((job.id,) if is_holding else ())


def test_the_last_report_names_no_job(process: Process, server: Server, job: Job) -> None:
    process.in_flight.add([Context(job, "w1")])
    process.directives.own = TERMINATE

    process.heartbeats.say_goodbye()

    (report,) = server.reports
    assert (report.standing, report.active_ids) == (TERMINATE, ())


def test_cancelled_jobs_are_marked_and_the_directive_is_followed(
    process: Process, server: Server, job: Job
) -> None:
    context = Context(job, "w1")
    process.in_flight.add([context])
    server.answer = {"standing": QUIET, "cancelled": [job.id, "ended meanwhile"]}

    process.heartbeats.send()

    assert context.is_cancelled()
    assert process.directives.standing is QUIET


def test_the_thread_survives_any_failure_and_ends_when_it_is_stopped(
    process: Process, server: Server
) -> None:
    server.failures = 1
    others = set(threading.enumerate())
    process.heartbeats.start()
    (thread,) = set(threading.enumerate()) - others
    until(lambda: process.directives.is_registered, "a heartbeat")

    process.heartbeats.stop()

    thread.join(DEADLINE_S)
    assert not thread.is_alive()
    assert len(server.reports) >= 2


@spec("GS-15")
def test_stop_waits_for_a_report_under_way(
    process: Process, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, is_stopping = threading.Event(), threading.Event()
    join = process.heartbeats._thread.join

    def report(given: Report) -> Answer:
        under_way.set()
        assert is_stopping.wait(DEADLINE_S)
        return server(given)

    def joined(timeout: float) -> None:
        is_stopping.set()
        join(timeout)

    monkeypatch.setattr(module, "heartbeat", report)
    monkeypatch.setattr(process.heartbeats._thread, "join", joined)
    process.heartbeats.start()
    assert under_way.wait(DEADLINE_S)

    process.heartbeats.stop()

    assert len(server.reports) == 1
