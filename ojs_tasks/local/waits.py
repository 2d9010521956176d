"""Wait for the end of a job in the database of this process."""

import asyncio
from time import monotonic
from typing import Final

from asgiref.sync import sync_to_async

from jobs.services.read.awaiting import Unseen, listener
from ojs_tasks.exceptions import ResultTimeout, UncommittedJob
from ojs_tasks.local.reading import read
from ojs_tasks.server import Snapshot

LOOKS: Final = 20  # an operator may revive the job after each end


def wait(job_id: str, timeout_s: float | None) -> Snapshot:
    """Return a job after its end; None: wait for any time.

    Raises ResultTimeout, JobNotFound, or UncommittedJob.
    """
    until = _until(timeout_s)
    shown = read(job_id)
    for _ in range(LOOKS):
        if shown.has_ended:
            return shown
        left_s = _left_s(until, shown)
        future = listener.watch(job_id)
        try:
            future.result(left_s)
        except TimeoutError:
            raise _late(shown) from None
        except Unseen:
            raise _uncommitted(read(job_id)) from None
        finally:
            listener.leave(job_id, future)
        shown = read(job_id)
    raise _outdated(shown)


async def await_end(job_id: str, timeout_s: float | None) -> Snapshot:
    """Return a job after its end, as `wait` does, without blocking the event loop."""
    until = _until(timeout_s)
    look = sync_to_async(read)
    shown = await look(job_id)
    for _ in range(LOOKS):
        if shown.has_ended:
            return shown
        left_s = _left_s(until, shown)
        future = listener.watch(job_id)
        try:
            await asyncio.wait_for(asyncio.wrap_future(future), left_s)
        except TimeoutError:
            raise _late(shown) from None
        except Unseen:
            raise _uncommitted(await look(job_id)) from None
        finally:
            listener.leave(job_id, future)
        shown = await look(job_id)
    raise _outdated(shown)


def _until(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else monotonic() + timeout_s


def _left_s(until: float | None, shown: Snapshot) -> float | None:
    left_s = None if until is None else until - monotonic()
    if left_s is not None and left_s <= 0:
        raise _late(shown)
    return left_s


def _late(shown: Snapshot) -> ResultTimeout:
    return ResultTimeout(f"job {shown.id} did not end in time: it was {shown.state}")


def _uncommitted(shown: Snapshot) -> UncommittedJob:
    return UncommittedJob(
        f"job {shown.id} cannot end before the transaction that enqueued it: wait for its result"
        " after the commit. In a test, run it by run_available()"
    )


def _outdated(shown: Snapshot) -> UncommittedJob:
    return UncommittedJob(
        f"job {shown.id} has ended, but the transaction of this thread began before its end and"
        " cannot see it: read the result after the transaction"
    )
