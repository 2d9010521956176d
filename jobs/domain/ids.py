"""Job ids are UUIDv7 in lower case. Spec: contract 1.1."""

import re
from datetime import UTC, datetime
from secrets import randbits
from threading import Lock
from time import time_ns
from typing import Final

PATTERN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TICKS_PER_MS: Final = 4096  # the 12 bits after the milliseconds count them: RFC 9562, 6.2


class _Clock:
    """Hands out each tick once, in rising order.

    The package uuid6 adds a whole millisecond to an id that would not rise otherwise, so its ids
    run ahead of the clock, for hours after a big import; ticks would take 4 million ids a second.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._latest = 0

    def tick(self) -> int:
        now = time_ns() * TICKS_PER_MS // 1_000_000
        with self._lock:
            self._latest = max(self._latest + 1, now)
            return self._latest


_clock = _Clock()


def new_id() -> str:
    """Make an id above every earlier one of this process, so that a batch keeps its order."""
    ms, fraction = divmod(_clock.tick(), TICKS_PER_MS)
    # version 7 and variant 2 around the bits; written here, as a UUID object takes ten times longer
    text = f"{ms << 80 | 7 << 76 | fraction << 64 | 2 << 62 | randbits(62):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_id(text: object) -> bool:
    """Tell whether a value has the form of a job id."""
    return isinstance(text, str) and PATTERN.fullmatch(text) is not None


def time_of(job_id: str) -> datetime:
    """Return when an id was made, to the millisecond."""
    return datetime.fromtimestamp(int(job_id[:8] + job_id[9:13], 16) / 1000, UTC)


def request_id() -> str:
    """Name a request that came without an id."""
    return f"req_{new_id()}"
