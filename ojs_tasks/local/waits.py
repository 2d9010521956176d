"""Wait for the end of a job or a workflow in the database of this process."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from time import monotonic
from typing import Final, Generic, Protocol, TypeVar

from asgiref.sync import sync_to_async

from jobs.services.read.awaiting import Unseen, listener
from ojs_tasks.exceptions import ResultTimeout, UncommittedJob
from ojs_tasks.local.reading import read
from ojs_tasks.server import Snapshot

LOOKS: Final = 20  # an operator may revive the job after each end


class Shown(Protocol):
    """A job or a workflow."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def has_ended(self) -> bool: ...


S = TypeVar("S", bound=Shown)


@dataclass(frozen=True, slots=True)
class Waits(Generic[S]):
    """The waits for one kind of rows."""

    noun: str
    read: Callable[[str], S]
    watch: Callable[[str], "Future[None]"]

    def wait(self, row_id: str, timeout_s: float | None) -> S:
        """Return a row after its end; None: wait for any time.

        Raises ResultTimeout, UncommittedJob, or as `read`.
        """
        until = _until(timeout_s)
        shown = self.read(row_id)
        for _ in range(LOOKS):
            if shown.has_ended:
                return shown
            left_s = self._left_s(until, shown)
            future = self.watch(row_id)
            try:
                future.result(left_s)
            except TimeoutError:
                raise self._late(shown) from None
            except Unseen:
                raise self._uncommitted(self.read(row_id)) from None
            finally:
                listener.leave(row_id, future)
            shown = self.read(row_id)
        raise self._outdated(shown)

    async def await_end(self, row_id: str, timeout_s: float | None) -> S:
        """Return a row after its end, as `wait` does, without blocking the event loop."""
        until = _until(timeout_s)
        look = sync_to_async(self.read)
        shown = await look(row_id)
        for _ in range(LOOKS):
            if shown.has_ended:
                return shown
            left_s = self._left_s(until, shown)
            future = self.watch(row_id)
            try:
                await asyncio.wait_for(asyncio.wrap_future(future), left_s)
            except TimeoutError:
                raise self._late(shown) from None
            except Unseen:
                raise self._uncommitted(await look(row_id)) from None
            finally:
                listener.leave(row_id, future)
            shown = await look(row_id)
        raise self._outdated(shown)

    def _left_s(self, until: float | None, shown: S) -> float | None:
        left_s = None if until is None else until - monotonic()
        if left_s is not None and left_s <= 0:
            raise self._late(shown)
        return left_s

    def _late(self, shown: S) -> ResultTimeout:
        problem = f"{self.noun} {shown.id} did not end in time: it was {shown.state}"
        queue = getattr(shown, "queue", None)
        if shown.state == "available" and queue:
            problem += f"; does a worker claim from the queue {queue!r}?"
        return ResultTimeout(problem)

    def _uncommitted(self, shown: S) -> UncommittedJob:
        return UncommittedJob(
            f"{self.noun} {shown.id} cannot end before the transaction that enqueued it: wait for"
            " its result after the commit. In a test, run it by run_available()"
        )

    def _outdated(self, shown: S) -> UncommittedJob:
        return UncommittedJob(
            f"{self.noun} {shown.id} has ended, but the transaction of this thread began before its"
            " end and cannot see it: read the result after the transaction"
        )


def _until(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else monotonic() + timeout_s


JOBS: Final[Waits[Snapshot]] = Waits("job", read, listener.watch)
