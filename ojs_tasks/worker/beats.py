"""The thread of a worker process that sends its heartbeats."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final

from ojs_tasks.worker.directives import Directives
from ojs_tasks.worker.in_flight import InFlight
from ojs_tasks.worker.ports import Standing, Tries
from ojs_tasks.worker.waits import Waits

LAST_BEAT_S: Final = 5.0  # how long `stop` waits for a report that is under way


class Beats(ABC):
    """Sends a heartbeat each `interval_s`, at once after `waits.beat`, sooner after a failure."""

    def __init__(
        self, in_flight: InFlight, directives: Directives, waits: Waits, *, interval_s: float
    ) -> None:
        """Prepare; `start` starts the thread."""
        self._in_flight = in_flight
        self._directives = directives
        self._waits = waits
        self._interval_s = interval_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="ojs-beat", daemon=True)

    @abstractmethod
    def send(self) -> None:
        """Send a heartbeat for the held jobs, and follow the answer."""

    @abstractmethod
    def new_tries(self) -> Tries:
        """Return the log of failures and the pauses after them, in the thread at its start."""

    @abstractmethod
    def release(self) -> None:
        """Close the connection of the thread, after a failure and at the end."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after a report under way: stored later, it would revive the worker."""
        self._over.set()
        self._waits.beat.set()
        if self._thread.is_alive():
            self._thread.join(LAST_BEAT_S)

    def follow(self, standing: Standing, cancelled: Iterable[str]) -> None:
        """Follow the answer to a heartbeat: the directive, and the ids of cancelled jobs."""
        self._directives.obey_heartbeat(standing)
        for job_id in cancelled:
            context = self._in_flight.find(job_id)
            if context:
                context.cancel()

    def own_standing(self, *, holds_jobs: bool) -> Standing:
        """Return the standing to report.

        While jobs are held a terminating worker counts as quiet: it still answers for them.
        """
        own = self._directives.own
        return Standing.QUIET if holds_jobs and own else own

    def _beat(self) -> None:
        tries = self.new_tries()
        while not self._over.is_set():
            pause_s = self._interval_s
            try:
                self.send()
                tries.went_well()
            except Exception as problem:  # any error: a worker that falls silent loses its jobs
                self.release()
                pause_s = min(tries.failed(problem), self._interval_s)
            self._waits.beat.wait(pause_s)
            self._waits.beat.clear()
        self.release()
