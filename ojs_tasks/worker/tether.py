"""End child processes with their parent, for any end of it (Linux; elsewhere no effect)."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
# loaded here: between fork and exec no lock may be taken
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def tied(number: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """Return a `preexec_fn`: the child gets this signal when the thread that starts it is over."""
    parent = os.getpid()

    def in_child() -> None:
        if _libc:
            _libc.prctl(PR_SET_PDEATHSIG, number)
            if os.getppid() != parent:  # it died before the call
                os._exit(1)

    return in_child
