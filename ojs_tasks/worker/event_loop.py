"""The event loop of a worker process: attempts with coroutines are its tasks.

Its thread starts with the first such attempt. An attempt holds no thread while it waits.
"""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from ojs_tasks.context import run_as_current
from ojs_tasks.worker import lanes
from ojs_tasks.worker.chain import Place, Steps, tracker
from ojs_tasks.worker.execution import Execution
from ojs_tasks.worker.in_flight import InFlight, Running
from ojs_tasks.worker.ports import Nack, Outcome

logger = logging.getLogger("ojs.worker")

End = Callable[[Running, Outcome], None]


@dataclass(slots=True)
class Attempt:
    """An attempt on the event loop, and the tracker of its places."""

    entry: Running
    steps: Steps
    end: End
    in_flight: InFlight

    def enter(self, place: Place) -> bool:
        """Note that the attempt goes on in this place; False: its time is over."""
        return self.in_flight.enter(self.entry, place)

    def leave(self) -> None:
        """Note that it has left the place that it entered last."""
        self.in_flight.leave(self.entry)


class EventLoop:
    """The event loop of one process."""

    def __init__(self, in_flight: InFlight, execution: Execution) -> None:
        """Prepare; the first attempt starts the thread."""
        self._in_flight = in_flight
        self._execute = execution.execute_on_loop
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="ojs-loop", daemon=True)
        self._lanes = lanes.Lanes()
        self._attempts: WeakKeyDictionary[asyncio.Task[Any], Attempt] = WeakKeyDictionary()
        self._ending: asyncio.Task[None] | None = None
        self._asked_at: float | None = None  # monotonic: of a callback that has not run yet

    def start(self, entry: Running, steps: Steps, end: End) -> None:
        """Start an attempt that this thread has begun; `end` runs on the loop and must not wait."""
        self._in_flight.hand_over(entry)
        attempt = Attempt(entry, steps, end, self._in_flight)
        self._call_soon(self._begin, attempt)

    def cancel(self, task: asyncio.Task[Any]) -> None:
        """Raise CancelledError in a task, from any thread."""
        self._call_soon(task.cancel)

    def blocked_s(self, now: float) -> float:
        """Return for how many seconds no callback has run at this monotonic time; 0 if they run.

        For one thread, which calls it repeatedly: each call asks the loop for the next.
        """
        if self._loop is None or self._loop.is_closed():
            return 0.0
        asked_at = self._asked_at
        if asked_at is None:
            asked_at = self._asked_at = now
            self._call_soon(self._answer)
        return now - asked_at

    def current(self) -> Running | None:
        """Return the attempt whose code runs now, None if there is none or it is not known."""
        task = asyncio.current_task(self._loop) if self._loop else None
        attempt = self._attempts.get(task) if task else None
        return attempt.entry if attempt else None

    def line(self) -> str:
        """Return the line of code that the loop's thread executes now, for a log."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        if frame is None:
            return ""
        last = traceback.extract_stack(frame, limit=1)[0]
        return f"{last.filename}:{last.lineno} in {last.name}"

    def stop(self, timeout_s: float) -> None:
        """Cancel all tasks, let them end, at most for `timeout_s`, and end all threads."""
        with self._lock:
            loop = self._loop
        if loop is None or loop.is_closed():
            return
        self._call_soon(self._begin_end, timeout_s)
        until = monotonic() + timeout_s
        self._thread.join(timeout_s)
        self._lanes.close(max(0.0, until - monotonic()))

    def _call_soon(self, callback: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: the process ends
            self._started().call_soon_threadsafe(callback, *arguments)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_task_factory(self._make_task)
                self._thread.start()
            return self._loop

    def _run(self) -> None:
        loop = self._started()
        is_over = False
        while not is_over:
            try:
                loop.run_forever()
                is_over = True
            except BaseException:  # SystemExit of a task that a handler left behind
                logger.exception("event_loop.interrupted")
        loop.close()

    def _begin(self, attempt: Attempt) -> None:
        variables = run_as_current(attempt.entry.context, lambda _context: copy_context())
        variables.run(tracker.set, attempt)
        lane = self._lanes.take(is_own=attempt.steps.in_thread)
        lanes.enter(lane, variables)
        asyncio.get_running_loop().create_task(self._attempt(attempt, lane), context=variables)

    async def _attempt(self, attempt: Attempt, lane: lanes.Lane) -> None:
        entry, task = attempt.entry, asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a task
        attempt.enter(task)
        outcome = await self._execute(entry.context, attempt.steps, lambda: entry.warned)
        is_own, has_failed = attempt.steps.in_thread, isinstance(outcome, Nack)
        self._lanes.give_back(lane, is_own=is_own, has_failed=has_failed)
        attempt.end(entry, outcome)

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        """Make a task, and note its attempt: a handler may make further tasks."""
        task = asyncio.Task(coroutine, loop=loop, **options)
        attempt = (options.get("context") or copy_context()).get(tracker)
        if isinstance(attempt, Attempt):
            self._attempts[task] = attempt
        return task

    def _answer(self) -> None:
        self._asked_at = None

    def _begin_end(self, timeout_s: float) -> None:
        self._ending = asyncio.get_running_loop().create_task(self._end(timeout_s))

    async def _end(self, timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        until = monotonic() + timeout_s
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=until - monotonic())
        await loop.shutdown_asyncgens()
        loop.stop()
