"""The baton: the thread that holds it reads and answers the requests of an HTTP process.

Threads that run Python code at the same time only take the interpreter from each other. One thread
therefore holds the baton, also during a short statement. It passes the baton on before anything
that may take longer, and another thread continues with the other requests.
"""

import threading
from collections.abc import Callable
from typing import Final

SHORT_MS: Final = 2  # a thread holds the baton this long while it waits for a statement


class _Thread(threading.local):
    release: Callable[[], None] | None = None


_thread = _Thread()


def hold(release: Callable[[], None]) -> None:
    """Record that this thread holds the baton; `release` gives it to another thread."""
    _thread.release = release


def is_held() -> bool:
    """Return whether this thread holds the baton."""
    return _thread.release is not None


def pass_on() -> None:
    """Pass the baton on if this thread holds it: before a wait of any length."""
    release = _thread.release
    if release is not None:
        _thread.release = None
        release()
