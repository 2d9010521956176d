"""Hold a request until a job has ended, or answer it at once. Spec: contract 24.6.

The database notifies the process of the end (`jobs/services/read/awaiting.py`), so a waiting
request reads the job twice: before the wait and after it. A waiting request holds a server thread.
So it needs one of the few slots of FETCH; without a free slot the answer comes at once.
"""

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from threading import Lock
from typing import TypeAlias

from jobs.domain.job import Job
from jobs.domain.states import CODES, TERMINAL
from jobs.services.dispatch.waiting import slots
from jobs.services.read.awaiting import Unseen, listener
from jobs.services.read.show import show
from jobs.services.workers import draining

ENDED = frozenset(CODES[state] for state in TERMINAL)

Watch: TypeAlias = Callable[[str], "Future[None]"]  # as `Listener.watch`

_lock = Lock()
_waits: set["Future[None]"] = set()


def job_or_wait(job: Job, wait_s: float) -> Job:
    """Return the job once it has ended, or in its present state after `wait_s`.

    Raises NotFound when the job is removed meanwhile.
    """
    if job.state in ENDED or not hold(job.id, wait_s, listener.watch):
        return job
    return show(job.id)


def hold(row_id: str, wait_s: float, watch: Watch) -> bool:
    """Wait for the end of a row, at most `wait_s`; returns False without a free slot.

    The end of the process ends the wait, too. So the caller reads the row again.
    """
    if wait_s <= 0 or not slots.acquire(blocking=False):
        return False
    try:
        _wait(row_id, wait_s, watch)
    finally:
        slots.release()
    return True


def _wait(row_id: str, wait_s: float, watch: Watch) -> None:
    future = watch(row_id)
    try:
        with _lock:
            _waits.add(future)
        if not draining.is_draining():  # a later end of the process finds the wait in `_waits`
            future.result(wait_s)
    except (TimeoutError, CancelledError, Unseen):
        pass
    finally:
        with _lock:
            _waits.discard(future)
        listener.leave(row_id, future)


def _release() -> None:
    """End all waits, since the process is about to end."""
    with _lock:
        for future in _waits:
            future.cancel()


draining.on_drain(_release)
