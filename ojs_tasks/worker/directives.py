"""The directives that a worker process follows: by signals, by the server, by a stuck handler."""

import threading
from collections.abc import Callable

from ojs_tasks.worker.ports import Standing
from ojs_tasks.worker.waits import Waits


class Directives:
    """Whether the process claims jobs, only finishes them, or ends."""

    def __init__(self, waits: Waits) -> None:
        """Begin with a process that claims as soon as the server has stored a heartbeat."""
        self._waits = waits
        self._lock = threading.Lock()  # of the standing and of `hold`
        self._directed = Standing.RUNNING  # by the server's latest answer
        self.own = Standing.RUNNING  # by signals; only this is reported
        self.is_registered = False  # the first heartbeat was stored
        self.must_leave = False  # a stuck handler: the process has to be replaced
        self.is_dismissed = False  # an operator ended the worker before any signal did

    @property
    def standing(self) -> Standing:
        """The stronger of the directives by signals and by the server."""
        return max(self.own, self._directed)

    @property
    def is_ending(self) -> bool:
        """No further job is claimed; the process drains and ends."""
        return self.standing is Standing.TERMINATE or self.must_leave

    def hold(self, take: Callable[[], None]) -> bool:
        """Take claimed jobs, unless a directive came during the claim; returns whether it did.

        After the return of `quiet` or `terminate` no job is taken: the caller hands the jobs back.
        """
        with self._lock:
            if self.standing is not Standing.RUNNING or self.must_leave:
                return False
            take()
            return True

    def quiet(self) -> None:
        """Claim no more jobs; running jobs go on."""
        with self._lock:
            self.own = max(self.own, Standing.QUIET)
        self._waits.beat.set()

    def resume(self) -> None:
        """Claim again after `quiet`, unless an operator's directive stands."""
        with self._lock:
            if self.own is not Standing.QUIET:
                return
            self.own = Standing.RUNNING
        self._waits.beat.set()

    def terminate(self) -> None:
        """Claim no more jobs, drain and end."""
        with self._lock:
            self.own = Standing.TERMINATE
        self._waits.wake_main()

    def leave(self) -> None:
        """Drain and end soon, so that the parent starts a new process."""
        self.must_leave = True
        self._waits.wake_main()

    def obey(self, directive: Standing) -> None:
        """Follow the server's directive; a resume by an operator makes it `running` again."""
        if directive is Standing.TERMINATE:
            # after a signal the server only repeats what this worker reports
            self.is_dismissed = self.is_dismissed or self.own is not Standing.TERMINATE
            self.terminate()
            return
        with self._lock:
            is_new = directive is not self._directed
            self._directed = directive
        if is_new:
            self._waits.wake_main()

    def obey_heartbeat(self, directive: Standing) -> None:
        """Follow the answer to a heartbeat; after the first answer the process claims."""
        if not self.is_registered:
            self.is_registered = True
            self._waits.main.set()
        self.obey(directive)
