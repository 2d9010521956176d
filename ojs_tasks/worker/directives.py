"""The directives that a worker process follows: by signals, by the server, by a stuck handler."""

from ojs_tasks.worker.ports import Standing
from ojs_tasks.worker.waits import Waits


class Directives:
    """Whether the process claims jobs, only finishes them, or ends."""

    def __init__(self, waits: Waits) -> None:
        """Begin with a process that claims as soon as the server has stored a heartbeat."""
        self._waits = waits
        self._directed = Standing.RUNNING  # by the server's latest answer
        self.own = Standing.RUNNING  # by signals; only this is reported
        self.is_registered = False  # the first heartbeat was stored
        self.must_leave = False  # a stuck handler: the process has to be replaced

    @property
    def standing(self) -> Standing:
        """The stronger of the directives by signals and by the server."""
        return max(self.own, self._directed)

    @property
    def is_ending(self) -> bool:
        """No further job is claimed; the process drains and ends."""
        return self.standing is Standing.TERMINATE or self.must_leave

    def quiet(self) -> None:
        """Claim no more jobs; running jobs go on."""
        self.own = max(self.own, Standing.QUIET)
        self._waits.beat.set()

    def resume(self) -> None:
        """Claim again after `quiet`, unless an operator's directive stands."""
        if self.own is Standing.QUIET:
            self.own = Standing.RUNNING
            self._waits.beat.set()

    def terminate(self) -> None:
        """Claim no more jobs, drain and end."""
        self.own = Standing.TERMINATE
        self._waits.wake_main()

    def leave(self) -> None:
        """Drain and end soon, so that the parent starts a new process."""
        self.must_leave = True
        self._waits.wake_main()

    def obey(self, directive: Standing) -> None:
        """Follow the server's directive; a resume by an operator makes it `running` again."""
        if directive is Standing.TERMINATE:
            self.terminate()
        elif directive is not self._directed:
            self._directed = directive
            self._waits.wake_main()

    def obey_heartbeat(self, directive: Standing) -> None:
        """Follow the answer to a heartbeat; after the first answer the process claims."""
        if not self.is_registered:
            self.is_registered = True
            self._waits.main.set()
        self.obey(directive)
