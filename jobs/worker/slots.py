"""The slots of a worker process: threads that run handlers, one job at a time."""

import threading

from jobs.database import connection
from jobs.handlers import JobTimeout, handler_of
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack
from jobs.worker.acker import Acker
from jobs.worker.execution import execute, timed_out
from jobs.worker.in_flight import InFlight, Running


class Slots:
    """The handler threads of one process."""

    def __init__(self, number: int, in_flight: InFlight, acker: Acker) -> None:
        """Prepare; `start` starts the threads."""
        self._number = number
        self._in_flight = in_flight
        self._acker = acker

    def start(self) -> None:
        """Start the threads; they end by `InFlight.end_threads`."""
        for n in range(self._number):
            threading.Thread(target=self.work, name=f"ojs-handler-{n}", daemon=True).start()

    def work(self) -> None:
        """Run attempts until the process ends."""
        while entry := self._in_flight.begin():
            try:
                self.end(entry, execute(entry.context))
            except JobTimeout:  # it arrived a moment after the handler's end
                self.end(entry, timed_out(entry.context))
        connection.close()

    def end(self, entry: Running, outcome: Ack | Nack) -> None:
        """Answer for an attempt; the server refuses a second answer for it."""
        handler = handler_of(entry.context.job)
        is_late = self._in_flight.finish(entry)
        if not is_late:
            self._acker.send(outcome, wait=not (handler and handler.idempotent))
        self._in_flight.forget(entry.context)
