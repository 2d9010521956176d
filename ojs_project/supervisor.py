"""Child processes of `quickstart`: started, watched, restarted, ended together."""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic

logger = logging.getLogger("ojs.quickstart")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 15.0
HEALTHY_S = 30.0  # a child that lived this long starts again without a longer pause
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask Linux to end this child when its parent dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclass
class Child:
    """One process and how often it had to be started."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    grace_s: float = 35.0
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    due_at: float = field(default=0.0)

    def start(self) -> None:
        """Start the process in a session of its own: Ctrl-C is for the supervisor to pass on."""
        self.started_at = monotonic()
        self.process = subprocess.Popen(  # noqa: S603 - commands are our own
            self.command,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - one thread at this point
        )

    def is_alive(self) -> bool:
        """Tell whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """End the process, by force after its grace."""
        if self.process is None or not self.is_alive():
            return
        self.process.terminate()
        try:
            self.process.wait(self.grace_s)
        except subprocess.TimeoutExpired:
            logger.warning("%s did not end within %s s: killed", self.name, self.grace_s)
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Supervisor:
    """Keeps children running until `over` is set; ends them in reverse order of start."""

    def __init__(self, children: Sequence[Child]) -> None:
        """Prepare; `start` starts the children in order."""
        self.children = list(children)
        self.over = threading.Event()

    def start(self) -> None:
        """Start every child."""
        for child in self.children:
            child.start()

    def watch(self) -> None:
        """Restart children that end by themselves, until `over`."""
        while not self.over.wait(0.2):
            for child in self.children:
                if not child.is_alive():
                    self._revive(child)

    def _revive(self, child: Child) -> None:
        now = monotonic()
        if child.due_at == 0.0:
            lived = now - child.started_at
            child.pause_s = (
                FIRST_PAUSE_S if lived > HEALTHY_S else min(child.pause_s * 2, LONGEST_PAUSE_S)
            )
            child.due_at = now + child.pause_s
            code = child.process.returncode if child.process else None
            logger.warning("%s ended (%s): again in %.1f s", child.name, code, child.pause_s)
        elif now >= child.due_at:
            child.due_at = 0.0
            child.start()

    def stop(self) -> None:
        """End every child, the last started first."""
        self.over.set()
        for child in reversed(self.children):
            child.stop()
