"""The processes of `quickstart`: starts, watches, restarts and ends them.

There is one thread, and signal handlers only count: a handler without locks cannot deadlock.
"""

import contextlib
import logging
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ojs_tasks.worker.tether import tied

logger = logging.getLogger("ojs.quickstart")

TICK_S = 0.1
LOOK_S = 1.0  # between looks at services that run; a signal ends the pause
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 15.0
HEALTHY_S = 30.0  # after this lifetime, a service restarts without a longer pause
HURRY_S = 2.0  # from the second signal to the kill
RELOAD_GRACE_S = 3.0  # of each service, after a change of the code


class Service(Protocol):
    """A program that runs until it is stopped."""

    name: str

    def start(self) -> None:
        """Start it, also again. Raises RuntimeError when that fails for now."""

    def is_alive(self) -> bool:
        """Return whether it runs."""

    def stop(self, is_hurried: Callable[[], bool]) -> None:
        """End it; wait less as soon as `is_hurried` holds."""


@dataclass
class Child:
    """A service that is one process; its subprocesses share its process group."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    grace_s: float = 35.0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process in a new session: the supervisor passes Ctrl-C on."""
        self._end_group()
        self.process = subprocess.Popen(  # noqa: S603 - commands are our own
            self.command,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=tied(),  # noqa: PLW1509 - one thread, and nothing but a system call
        )

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def stop(self, is_hurried: Callable[[], bool]) -> None:
        """End the process, by force after its grace period, and kill the rest of its group."""
        if self.process is not None and self.is_alive():
            self.process.terminate()
            if not self._ends_within(self.grace_s, is_hurried):
                self.process.terminate()  # a worker gives up its jobs at the second signal
                if not self._ends_within(HURRY_S, lambda: False):
                    logger.warning("%s had to be killed", self.name)
        self._end_group()

    def _ends_within(self, seconds: float, is_hurried: Callable[[], bool]) -> bool:
        until = time.monotonic() + seconds
        while self.is_alive() and time.monotonic() < until and not is_hurried():
            time.sleep(TICK_S)
        return not self.is_alive()

    def _end_group(self) -> None:
        """Kill the rest of the group: after the death of its leader nothing else would end it."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@dataclass
class _Life:
    """The start of a service and, once it ended, the time of its next start."""

    started_at: float
    pause_s: float = FIRST_PAUSE_S / 2
    due_at: float | None = None


def _never() -> bool:
    return False


class Supervisor:
    """Keeps services running until a signal; ends them in reverse order of start."""

    def __init__(self) -> None:
        """Create a supervisor without services."""
        self._services: list[tuple[Service, _Life]] = []
        self._signals = 0
        self._has_changed: Callable[[], bool] = _never
        self._reloaded: Sequence[Service] = ()
        self._woken: int | None = None  # gets a byte for each signal

    @property
    def is_over(self) -> bool:
        """A signal asked for the end."""
        return self._signals > 0

    @property
    def is_hurried(self) -> bool:
        """A second signal asked for a quick end."""
        return self._signals > 1

    def follow_signals(self) -> None:
        """Let SIGINT and SIGTERM end `watch` instead of this process."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._count)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # it ends a pause, no more
        self._woken, waking = os.pipe()
        for end in (self._woken, waking):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)

    def _count(self, _number: int, _frame: object) -> None:
        self._signals += 1

    def add(self, service: Service, *, is_running: bool = False) -> None:
        """Start a service and keep it running from now on."""
        self._services.append((service, _Life(time.monotonic())))
        if not is_running:
            service.start()

    def reload_when(self, has_changed: Callable[[], bool], services: Sequence[Service]) -> None:
        """Let `watch` restart these services whenever `has_changed` returns true."""
        self._has_changed, self._reloaded = has_changed, services

    def watch(self, until: Callable[[], bool] = _never) -> None:
        """Restart services that end by themselves, until a signal comes or `until` holds."""
        while not self.is_over and not until():
            if self._has_changed():
                self._reload()
            for service, life in self._services:
                if not service.is_alive():
                    self._revive(service, life)
            is_busy = any(life.due_at is not None for _, life in self._services)
            self._wait(TICK_S if is_busy or until is not _never else LOOK_S)

    def _reload(self) -> None:
        """Restart the services that run the code, also a service that waits for its next start."""
        logger.warning("the code has changed: restarting")
        for service in reversed(self._reloaded):
            service.stop(self._hurried_after(RELOAD_GRACE_S))
        for service, life in self._services:
            if service in self._reloaded:
                life.due_at, life.started_at = None, time.monotonic()
                service.start()

    def _hurried_after(self, seconds: float) -> Callable[[], bool]:
        """Return a condition that holds after this time, and after a signal."""
        until = time.monotonic() + seconds
        return lambda: self.is_over or time.monotonic() > until

    def _wait(self, seconds: float) -> None:
        """Pause until a signal; without `follow_signals` for a moment."""
        if self._woken is None:
            time.sleep(TICK_S)
        elif select.select([self._woken], [], [], seconds)[0]:
            os.read(self._woken, 4096)

    def _revive(self, service: Service, life: _Life) -> None:
        now = time.monotonic()
        if life.due_at is None:
            is_new = now - life.started_at < HEALTHY_S
            life.pause_s = min(life.pause_s * 2, LONGEST_PAUSE_S) if is_new else FIRST_PAUSE_S
            life.due_at = now + life.pause_s
            logger.warning("%s ended: again in %.1f s", service.name, life.pause_s)
        elif now >= life.due_at:
            life.due_at, life.started_at = None, now
            try:
                service.start()
            except RuntimeError as problem:
                logger.warning("%s: %s", service.name, problem)

    def stop(self) -> None:
        """End every service, the last started service first."""
        while self._services:
            service, _ = self._services.pop()
            service.stop(lambda: self.is_hurried)
