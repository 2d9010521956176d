"""Processes of the tests: wait for their effects, and end them with all their descendants."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

DEADLINE_S = 120.0  # parallel tests slow each other down; a failure may take this long


def until(check: Callable[[], bool], what: str = "it", deadline_s: float = DEADLINE_S) -> None:
    """Wait until another process has had an effect; fail after a deadline."""
    end = monotonic() + deadline_s
    while not check():
        assert monotonic() < end, f"{what} did not happen"
        threading.Event().wait(0.02)


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():  # a child belongs to a thread
            found += map(int, (thread / "children").read_text().split())
    return found


def family(pid: int) -> list[int]:
    """Return a process and all its descendants, the oldest first."""
    return [pid, *(one for child in children(pid) for one in family(child))]


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


def kill_family(pid: int) -> None:
    """End a process and all its descendants now."""
    for number in family(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
