"""Manage the worker processes: start them, pass signals on, replace ended processes."""

import logging
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from ojs_tasks.worker.engine import CLEAN, DISMISSED, DISMISSED_UNFINISHED, UNFINISHED
from ojs_tasks.worker.tether import tied

logger = logging.getLogger("ojs.worker")

PAUSE_S = 1.0  # before a failed process is started again
KILL_S = 10.0  # beyond the grace period
LOOK_S = 1.0  # between looks at the processes, without a call of `look_soon`
FINAL = {DISMISSED: CLEAN, DISMISSED_UNFINISHED: UNFINISHED}  # codes of processes not replaced
FINAL_ONCE = {**FINAL, CLEAN: CLEAN, UNFINISHED: UNFINISHED}  # with `once`


@dataclass(slots=True)
class _Process:
    handle: subprocess.Popen[bytes]
    started_at: float


class Pool:
    """Keeps `number` copies of `command` running until it has to end."""

    def __init__(self, command: Sequence[str], number: int, *, once: bool, grace_s: float) -> None:
        """Prepare; `run` starts them. With `once` a clean end is not followed by a new start."""
        self._command = list(command)
        self._number = number
        self._final = FINAL_ONCE if once else FINAL
        self._grace_s = grace_s
        self._processes: list[_Process] = []
        self._over = threading.Event()
        self._ended = threading.Event()  # a process may have ended, or the pool has to end
        self._code = CLEAN

    def run(self) -> int:
        """Run until a signal ends it; returns the worst exit code."""
        self._processes = [self._start() for _ in range(self._number)]
        while self._processes and not self._over.is_set():
            self._ended.wait(LOOK_S)
            self._ended.clear()
            if not self._over.is_set():
                self._look_after()
        self._end()
        return self._code

    def look_soon(self) -> None:
        """Look at the processes now: one of them may have ended."""
        self._ended.set()

    def forward_signal(self, number: int) -> None:
        """Pass a signal on; SIGTERM and SIGINT also end the pool, the second one at once."""
        if number in {signal.SIGTERM, signal.SIGINT}:
            if self._over.is_set():
                number = signal.SIGKILL
            self._over.set()
            self._ended.set()
            number = signal.SIGTERM if number == signal.SIGINT else number
        for process in list(self._processes):
            if process.handle.poll() is None:
                process.handle.send_signal(number)

    def _start(self) -> _Process:
        handle = subprocess.Popen(  # noqa: S603 - our own command
            self._command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the parent to pass on
            preexec_fn=tied(),  # noqa: PLW1509 - nothing but a system call
        )
        return _Process(handle, monotonic())

    def _look_after(self) -> None:
        for index, process in enumerate(self._processes):
            code = process.handle.poll()
            if code is None:
                continue
            if code in self._final:
                self._code = max(self._code, self._final[code])
                del self._processes[index]
                if code in FINAL:
                    facts = {"pid": process.handle.pid, "left": len(self._processes)}
                    logger.warning("worker.dismissed", extra=facts)
                self._ended.set()  # another process may have ended, too
                return
            logger.warning("worker.replaced", extra={"pid": process.handle.pid, "code": code})
            if monotonic() - process.started_at < PAUSE_S:
                self._over.wait(PAUSE_S)
            if not self._over.is_set():
                self._processes[index] = self._start()

    def _end(self) -> None:
        self.terminate_all()
        until = monotonic() + self._grace_s + KILL_S
        for process in self._processes:
            try:
                code = process.handle.wait(max(0.1, until - monotonic()))
            except subprocess.TimeoutExpired:
                process.handle.kill()
                code = process.handle.wait()
            self._code = max(self._code, FINAL.get(code, UNFINISHED if code else CLEAN))

    def terminate_all(self) -> None:
        """Send SIGTERM to live processes; a process that got one before ignores the repetition."""
        for process in self._processes:
            if process.handle.poll() is None:
                process.handle.terminate()
