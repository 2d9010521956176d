"""The waits of the threads of a worker process, and the events that end these waits."""

import threading
from collections.abc import Callable
from typing import Final

TICK_S: Final = 0.1  # how often timeouts and the end of a drain are checked
RECONNECT_S: Final = 0.5  # the first pause after a failure to reach the server
LONGEST_RECONNECT_S: Final = 4.0


class Waits:
    """The events of one process; each thread waits for its own event."""

    def __init__(self, also_wake: Callable[[], None] | None = None) -> None:
        """Prepare the events; `also_wake` ends another wait of the main thread."""
        self._also_wake = also_wake
        self.main = threading.Event()  # the main thread waits for a slot, or for the end of jobs
        self.beat = threading.Event()  # the heartbeat thread waits for its next heartbeat

    def tick(self, seconds: float = TICK_S) -> None:
        """Let the main thread wait for an event, at most for `seconds`."""
        self.main.wait(seconds)
        self.main.clear()

    def wake_main(self) -> None:
        """End the waits of the main thread."""
        self.main.set()
        if self._also_wake:
            self._also_wake()
