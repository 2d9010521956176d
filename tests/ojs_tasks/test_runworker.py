"""`runworker` and the schedules in code."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scheduling.models import CronEntry
from tests.processes import DEADLINE_S, until
from tests.scheduling.conftest import entry

Spawn = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def worker(store: None, spawn: Spawn) -> Spawn:
    """Return a function that starts `runworker` of the project with a schedule."""

    def start(*options: str) -> subprocess.Popen[bytes]:
        return spawn(
            "manage.py", "runworker", "--no-loops", *options,
            DJANGO_SETTINGS_MODULE="tests.ojs_tasks.scheduled.settings",
        )  # fmt: skip

    return start


def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a process; return its exit code."""
    return process.wait(DEADLINE_S)


def test_workers_that_start_at_once_register_the_schedule_once(worker: Spawn) -> None:
    assert [ended(one) for one in [worker("--once"), worker("--once")]] == [0, 0]

    assert (entry("tests.yearly").project, entry("tests.yearly").timezone) == (
        "scheduled", "Europe/Berlin",
    )  # fmt: skip


def test_a_worker_registers_while_it_runs(worker: Spawn, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    process = worker("--ready-file", str(ready))
    until(ready.exists)
    until(lambda: CronEntry.objects.filter(name="tests.yearly").exists())

    process.send_signal(signal.SIGTERM)
    ended(process)


def test_no_schedules_leaves_them(worker: Spawn) -> None:
    assert ended(worker("--once", "--no-schedules")) == 0

    assert not CronEntry.objects.exists()
