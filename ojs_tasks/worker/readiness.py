"""Maintain a file that exists while a worker takes jobs, for probes without a network.

Spec: GS-6.
"""

import signal
from pathlib import Path


class ReadyFile:
    """The file of one `runworker`; without a path there is none."""

    def __init__(self, path: str | None) -> None:
        """Prepare; `show` makes the file."""
        self._path = Path(path) if path else None
        self._is_over = False

    def show(self) -> None:
        """Make the file, unless the end has begun."""
        if self._path and not self._is_over:
            self._path.touch()

    def hide(self) -> None:
        """Remove the file."""
        if self._path:
            self._path.unlink(missing_ok=True)

    def handle_signal(self, number: int) -> None:
        """Follow the signals that the workers follow: quiet and the end hide the file."""
        if number == signal.SIGCONT:
            self.show()
            return
        self._is_over = self._is_over or number in {signal.SIGTERM, signal.SIGINT}
        self.hide()
