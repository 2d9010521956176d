"""Whether this server process is about to end: it takes no new requests and keeps none waiting.

Spec: contract 33.3. Whoever gets the signal calls `drain`; who holds requests back asks or is told.
"""

import threading
from collections.abc import Callable

_over = threading.Event()
_callbacks: list[Callable[[], None]] = []


def is_draining() -> bool:
    """Tell whether the process is about to end."""
    return _over.is_set()


def on_drain(callback: Callable[[], None]) -> None:
    """Have a function called once, in another thread, when the process is about to end."""
    _callbacks.append(callback)


def drain() -> None:
    """Let everyone who waits go; harmless when repeated."""
    if not _over.is_set():
        _over.set()
        for callback in _callbacks:
            callback()


def pause(seconds: float) -> bool:
    """Wait, at most until the process is about to end; returns whether it is."""
    return _over.wait(seconds)
