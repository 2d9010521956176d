"""Lets requests that wait go when a server process is told to end. Spec: contract 33.3."""

import os
import signal
import threading

from jobs.services.draining import drain

ENDING = {signal.SIGTERM, signal.SIGINT}


def follow_signals() -> None:
    """Drain at the first signal to end, whatever handler it has by then.

    For the main thread. The interpreter writes the number of each signal it gets into the pipe.
    """
    arrived, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    threading.Thread(target=_follow, args=(arrived,), daemon=True, name="ojs-shutdown").start()


def _follow(arrived: int) -> None:
    while numbers := os.read(arrived, 100):
        if ENDING & set(numbers):
            drain()
