"""Job ids are UUIDv7 in lower case. Spec: contract 1.1."""

import os
import re
from datetime import UTC, datetime
from struct import iter_unpack
from threading import Lock
from time import time_ns
from typing import Final

PATTERN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TICKS_PER_MS: Final = 4096  # the 12 bits after the milliseconds count them: RFC 9562, 6.2
BULK: Final = 4096  # random bytes, a multiple of 8


class _Source:
    """Hands out each tick once, in rising order, with 64 random bits.

    The package uuid6 adds a whole millisecond to an id that would not rise otherwise, so its ids
    run ahead of the clock, for hours after a big import; ticks would take 4 million ids a second.
    Random bytes are asked for in bulk: asking the system took as long as the rest of an id.
    """

    def __init__(self) -> None:
        self.begin()
        os.register_at_fork(after_in_child=self.begin)  # parent and child have the same bytes

    def begin(self) -> None:
        self._lock, self._latest = Lock(), 0
        self._noise = iter_unpack("Q", b"")

    def take(self) -> tuple[int, int]:
        now = time_ns() * TICKS_PER_MS // 1_000_000
        with self._lock:
            self._latest = max(self._latest + 1, now)
            noise = next(self._noise, None)
            if noise is None:
                self._noise = iter_unpack("Q", os.urandom(BULK))
                noise = next(self._noise)
            return self._latest, noise[0]


_source = _Source()


def new_id() -> str:
    """Make an id above every earlier one of this process, so that a batch keeps its order."""
    tick, noise = _source.take()
    ms, fraction = divmod(tick, TICKS_PER_MS)
    # version 7 and variant 2 around the bits; written here, as a UUID object takes ten times longer
    text = f"{ms << 80 | 7 << 76 | fraction << 64 | 2 << 62 | noise >> 2:032x}"
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
