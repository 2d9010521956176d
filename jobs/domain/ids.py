"""Job ids are UUIDv7 in lower case. Spec: contract 1.1."""

import re
from threading import Lock
from typing import Final

from uuid6 import uuid7

PATTERN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_lock = Lock()


def new_id() -> str:
    """Make an id above every earlier one of this process, so that a batch keeps its order."""
    with _lock:  # the library's own check against its last id is not thread-safe
        return str(uuid7())


def is_id(text: object) -> bool:
    """Tell whether a value has the form of a job id."""
    return isinstance(text, str) and PATTERN.fullmatch(text) is not None


def request_id() -> str:
    """Name a request that came without an id."""
    return f"req_{new_id()}"
