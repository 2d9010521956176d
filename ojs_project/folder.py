"""The data directory of a server, with a marker file and a lock.

The lock is a file lock whose file the embedded PostgreSQL inherits. So it is free only after the
last process that may write to the data has ended, also after `kill -9` of its supervisor.
"""

import fcntl
import os
import time
from pathlib import Path
from typing import IO

MARKER = "ojs-cluster"  # the file that marks our directories
LEAVING_S = 30  # time for the server of a dead supervisor to end


class FolderError(Exception):
    """The reason why a directory cannot be used, in one line for the operator."""


def take(folder: Path) -> IO[str]:
    """Lock `folder`, make it if it is new, and return the lock for `leave`. Raises FolderError."""
    try:
        is_used = folder.exists() and any(folder.iterdir())
        if is_used and not (folder / MARKER).exists():
            raise FolderError(f"{folder} holds other files: choose another data dir")
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / MARKER).open("a+")
    except OSError as problem:
        raise FolderError(f"cannot use {folder}: {problem.strerror}") from None
    until = time.monotonic() + LEAVING_S
    while not _is_ours(lock):
        if _is_owned(lock) or time.monotonic() > until:
            lock.close()
            raise FolderError(f"{folder} is in use by another instance")
        time.sleep(0.1)
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def leave(lock: IO[str]) -> None:
    """Release the lock of a folder."""
    lock.truncate(0)
    lock.close()


def _is_ours(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_owned(lock: IO[str]) -> bool:
    """Return whether the supervisor that wrote its process id lives."""
    lock.seek(0)
    try:
        os.kill(int(lock.read()), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
