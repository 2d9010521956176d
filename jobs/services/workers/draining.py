"""Hold the state of a server process that is about to end: no new and no waiting requests.

Spec: contract 33.3. The signal handler calls `drain`; code that holds requests back registers a
function.
"""

import threading
from collections.abc import Callable

_over = threading.Event()
_callbacks: list[Callable[[], None]] = []


def is_draining() -> bool:
    """Return whether the process is about to end."""
    return _over.is_set()


def on_drain(callback: Callable[[], None]) -> None:
    """Register a function to call once, in another thread, when the process is about to end."""
    _callbacks.append(callback)


def drain() -> None:
    """Release all waiting requests; harmless when repeated."""
    if not _over.is_set():
        _over.set()
        for callback in _callbacks:
            callback()
