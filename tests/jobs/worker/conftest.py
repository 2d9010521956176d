"""A worker process, and a socket that its handlers connect to."""

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection

from jobs.domain.job import Job
from jobs.domain.states import CODES, State, state_of
from jobs.services.read.show import show
from jobs.worker.answers import DatabaseAnswers
from jobs.worker.process import WorkerProcess
from ojs_tasks import registry
from ojs_tasks.worker.acker import Acker, Then
from ojs_tasks.worker.ports import Outcome
from tests.jobs.worker.loops import Attempts
from tests.processes import DEADLINE_S, kill_family, until

Spawn = Callable[..., subprocess.Popen[bytes]]


def wait_for(job_id: str, *states: State) -> Job:
    """Wait until a job is in one of `states` and return it."""
    until(lambda: state_of(show(job_id).state) in states)
    return show(job_id)


@dataclass
class Guest:
    """A running handler that waits for an answer."""

    line: socket.socket
    pid: int
    attempt: int

    def let_go(self, text: str = "done") -> None:
        """Let the handler return `text`."""
        self.line.sendall(text.encode())
        self.line.close()


class Meeting:
    """Socket to which handlers of `tests.meet` connect."""

    def __init__(self, address: Path) -> None:
        """Listen at a socket."""
        self.address = str(address)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.address)
        self._socket.listen(50)
        self._socket.settimeout(DEADLINE_S)
        self._guests: list[Guest] = []

    def next(self) -> Guest:
        """Wait for the next handler."""
        line, _ = self._socket.accept()
        pid, attempt = line.recv(100).split()
        self._guests.append(Guest(line, int(pid), int(attempt)))
        return self._guests[-1]

    def close(self) -> None:
        """Stop listening and release all handlers."""
        self._socket.close()
        for guest in self._guests:
            guest.line.close()


@pytest.fixture
def meeting(tmp_path: Path) -> Iterator[Meeting]:
    """Return a socket for handlers."""
    place = Meeting(tmp_path / "s")
    yield place
    place.close()


@pytest.fixture
def worker(store: None, spawn: Spawn) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Return a function that starts `runworker` with the handlers of these tests."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        process = spawn(
            "manage.py", "runworker", *arguments,
            DJANGO_SETTINGS_MODULE="tests.jobs.worker.settings", **environment,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            kill_family(process.pid)
        process.wait()
    until(_is_alone)


def _is_alone() -> bool:
    """Return whether the database has noticed the end of every worker."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND application_name = 'ojs-worker-tests'"
        )
        return bool(cursor.fetchone()[0] == 0)


def run(process: WorkerProcess) -> int:
    """Run a worker in this thread until it ends, with all its threads and connections."""
    others = set(threading.enumerate())
    code = process.run()
    for thread in set(threading.enumerate()) - others:
        if thread.name.startswith("ojs-"):
            thread.join(DEADLINE_S)
    connection.close()
    return code


@pytest.fixture
def job() -> Job:
    """Return an active job that no database has."""
    return Job(
        id="0190a5b0-0000-7000-8000-000000000001", type="tests.echo", queue="tests",
        tenant="_default", priority=0, args="[1]", meta="{}", attributes="{}",
        state=CODES[State.ACTIVE], attempt=1, max_attempts=3, timeout_ms=60_000,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip


class Answers(Acker):
    """An acker that keeps the outcomes instead of sending them."""

    def __init__(self) -> None:
        """Begin with no outcome."""
        super().__init__(DatabaseAnswers())
        self.sent: list[tuple[Outcome, bool]] = []
        self.then: list[Then] = []

    def send(self, outcome: Outcome, *, wait: bool) -> None:
        """Keep an outcome, and whether its thread waits."""
        self.sent.append((outcome, wait))

    def send_then(self, outcome: Outcome, then: Then) -> None:
        """Keep an outcome, and what follows its commit."""
        self.sent.append((outcome, True))
        self.then.append(then)


@pytest.fixture
def attempts(job: Job, answers: Answers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Attempts]:
    """Return attempts on an event loop, with handlers that only the test registers."""
    monkeypatch.setattr(registry, "_handlers", {})
    made = Attempts(job, answers)
    yield made
    made.event_loop.stop(DEADLINE_S)


@pytest.fixture
def answers() -> Answers:
    """Return an acker that sends nothing."""
    return Answers()
