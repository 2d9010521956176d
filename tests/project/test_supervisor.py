"""The supervisor starts, watches, restarts and ends services."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ojs_project import supervisor as module
from ojs_project.supervisor import Child, Supervisor
from tests.processes import children, is_alive, until

IDLE = "import signal; signal.pause()"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); IDLE()"
PATIENT: Callable[[], bool] = lambda: False  # noqa: E731 - a constant


def python(code: str, grace_s: float = 35.0) -> Child:
    """Return a child that runs Python code."""
    code = code.replace("IDLE()", "[signal.pause() for _ in iter(int, 1)]")
    return Child("test", [sys.executable, "-c", code], os.environ, grace_s)


def pid_of(child: Child) -> int:
    """Return the process id of a child."""
    assert child.process is not None
    return child.process.pid


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the pauses of the supervisor."""
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 0.0)
    monkeypatch.setattr(module, "HURRY_S", 0.0)


@pytest.mark.usefixtures("quick")
def test_a_child_that_ends_is_started_again() -> None:
    keeper = Supervisor()
    child = python(IDLE)
    keeper.add(child)
    first = pid_of(child)
    os.kill(first, signal.SIGKILL)

    keeper.watch(lambda: child.is_alive() and pid_of(child) != first)

    assert is_alive(pid_of(child))
    keeper.stop()
    assert not is_alive(pid_of(child))


@pytest.mark.usefixtures("quick")
def test_what_the_children_of_a_dead_child_left_is_ended_before_the_new_start(
    tmp_path: Path,
) -> None:
    code = f"""
import os, signal
if not os.fork():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
open({str(tmp_path)!r} + f"/{{os.getpid()}}", "w").close()
signal.pause()
"""
    keeper = Supervisor()
    child = python(code)
    keeper.add(child)
    until(lambda: len(list(tmp_path.iterdir())) == 2)
    orphan = children(pid_of(child))[0]
    os.kill(pid_of(child), signal.SIGKILL)

    keeper.watch(lambda: len(list(tmp_path.iterdir())) == 4)

    assert not is_alive(orphan)
    keeper.stop()


def test_a_child_that_ends_in_its_grace_is_not_killed() -> None:
    child = python(IDLE)
    child.start()

    child.stop(PATIENT)

    assert child.process is not None
    assert child.process.returncode == -signal.SIGTERM


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("grace_s", "is_hurried"), [(0.0, False), (600.0, True)], ids=["grace over", "second signal"]
)
def test_a_child_that_does_not_end_is_killed(
    grace_s: float, is_hurried: bool, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    child = python(DEAF.replace("print(flush=True)", f"open({str(ready)!r}, 'w')"), grace_s=grace_s)
    child.start()
    until(ready.exists)

    child.stop(lambda: is_hurried)

    assert child.process is not None
    assert child.process.returncode == -signal.SIGKILL


class Moody:
    """A service that ends at once; every second start of it fails."""

    name = "moody"

    def __init__(self) -> None:
        """Begin with no starts and an empty log."""
        self.starts = 0
        self.log: list[str] = []

    def start(self) -> None:
        """Count the start; fail every second time."""
        self.starts += 1
        if self.starts % 2 == 0:
            raise RuntimeError("not now")

    def is_alive(self) -> bool:
        """Return False: the service has always ended."""
        return False

    def stop(self, is_hurried: Callable[[], bool]) -> None:
        """Record the stop."""
        self.log.append("stopped")


@pytest.mark.usefixtures("quick")
def test_a_start_that_fails_is_tried_again() -> None:
    keeper = Supervisor()
    moody = Moody()
    keeper.add(moody)

    keeper.watch(lambda: moody.starts == 5)

    keeper.stop()
    assert moody.log == ["stopped"]


def test_pauses_grow_to_a_bound_and_start_over_after_a_long_life() -> None:
    keeper = Supervisor()
    life = module._Life(started_at=float("inf"))  # this start counts as always recent
    pauses = []
    for _ in range(8):
        keeper._revive(Moody(), life)
        pauses.append(life.pause_s)
        life.due_at = None
    assert pauses == [0.5, 1, 2, 4, 8, 15, 15, 15]

    life.started_at = float("-inf")
    keeper._revive(Moody(), life)

    assert life.pause_s == 0.5


def test_the_first_signal_ends_the_watch_and_the_second_hurries() -> None:
    keeper = Supervisor()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        keeper.follow_signals()
        signal.raise_signal(signal.SIGINT)

        keeper.watch()

        assert keeper.is_over
        assert not keeper.is_hurried
        signal.raise_signal(signal.SIGTERM)
        assert keeper.is_hurried
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def test_services_end_in_reverse_order() -> None:
    ended: list[str] = []

    class Noted(Moody):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def stop(self, is_hurried: Callable[[], bool]) -> None:
            ended.append(self.name)

    keeper = Supervisor()
    for name in ("database", "http", "worker"):
        keeper.add(Noted(name), is_running=True)

    keeper.stop()

    assert ended == ["worker", "http", "database"]
