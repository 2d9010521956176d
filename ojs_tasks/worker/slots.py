"""The slots of a worker process: each runs one attempt at a time, in a thread or on the event loop.

A thread takes the next job with a slot. It runs the attempt itself, or gives the slot with the
attempt to the event loop and takes the next slot. Threads start as they are needed: while a slot is
free, one thread more than those that run attempts.
"""

import threading
from functools import partial

from django.db import close_old_connections, connections

from ojs_tasks.exceptions import JobTimeout
from ojs_tasks.registry import handler_of
from ojs_tasks.worker.acker import Acker
from ojs_tasks.worker.chain import Steps, steps_for
from ojs_tasks.worker.event_loop import EventLoop
from ojs_tasks.worker.execution import Execution, timed_out
from ojs_tasks.worker.in_flight import InFlight, Running
from ojs_tasks.worker.ports import Nack, Outcome


class Slots:
    """The slots of one process, and their threads."""

    def __init__(
        self,
        number: int,
        in_flight: InFlight,
        acker: Acker,
        event_loop: EventLoop,
        execution: Execution,
    ) -> None:
        """Prepare; `start` starts the first thread."""
        self._number = number
        self._in_flight = in_flight
        self._acker = acker
        self._event_loop = event_loop
        self._execute = execution.execute
        self._free = threading.Semaphore(number)  # slots that no thread and no attempt has
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0  # threads that run attempts, as long as there may be more threads

    def start(self) -> None:
        """Start working; `end` ends it."""
        self._threads = 1
        self._start_thread(0)

    def end(self) -> None:
        """Let every idle thread end."""
        self._in_flight.end_threads()
        self._free.release(self._number)

    def work(self) -> None:
        """Run attempts until the process ends."""
        self._free.acquire()
        while entry := self._in_flight.begin():
            handler = handler_of(entry.context.job)
            steps = steps_for(handler)
            is_idempotent = handler is not None and handler.idempotent
            try:
                if steps.on_loop:
                    end = partial(self.answer_soon, is_idempotent=is_idempotent)
                    self._event_loop.start(entry, steps, end)
                    self._free.acquire()  # the attempt has the slot of this thread
                else:
                    self.answer(entry, self._executed(entry, steps), is_idempotent=is_idempotent)
            except JobTimeout:  # it arrived a moment after the handler's end
                self.answer(entry, timed_out(entry.context), is_idempotent=is_idempotent)
        connections.close_all()

    def answer(self, entry: Running, outcome: Outcome, *, is_idempotent: bool) -> None:
        """Answer for an attempt of this thread; the server refuses a second answer for it."""
        is_late = self._in_flight.finish(entry)
        if not is_late:
            self._acker.send(outcome, wait=not is_idempotent)
        self._in_flight.forget(entry.context)

    def answer_soon(self, entry: Running, outcome: Outcome, *, is_idempotent: bool) -> None:
        """Answer for an attempt of the event loop, without waiting; then its slot is free."""
        if self._in_flight.finish(entry):
            self._leave(entry)
        elif is_idempotent and not self._acker.is_behind():
            self._acker.send(outcome, wait=False)
            self._leave(entry)
        else:
            self._acker.send_then(outcome, partial(self._leave, entry))

    def _leave(self, entry: Running) -> None:
        self._in_flight.forget(entry.context)
        self._free.release()

    def _executed(self, entry: Running, steps: Steps) -> Outcome:
        may_grow = self._threads < self._number
        if may_grow:
            self._keep_one_waiting()
        try:
            outcome = self._execute(entry.context, steps)
        finally:
            if may_grow:
                with self._lock:
                    self._busy -= 1
        if isinstance(outcome, Nack):
            close_old_connections()  # the handler's connection may be broken
        return outcome

    def _keep_one_waiting(self) -> None:
        """Start a thread if all are busy with this attempt."""
        with self._lock:
            self._busy += 1
            if self._busy < self._threads or self._threads == self._number:
                return
            self._threads += 1
            number = self._threads
        self._start_thread(number - 1)

    def _start_thread(self, number: int) -> None:
        threading.Thread(target=self.work, name=f"ojs-handler-{number}", daemon=True).start()
