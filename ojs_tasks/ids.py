"""Make ids of jobs: UUIDv7 in lower case. Spec: contract 1.1."""

import os
from threading import Lock
from time import time_ns
from typing import Final

TICKS_PER_MS: Final = 4096  # the 12 bits after the milliseconds count them: RFC 9562, 6.2
BULK: Final = 512  # ids whose random bits are read at once
VARIANT: Final = int.from_bytes(b"\x80\0\0\0\0\0\0\0" * BULK)  # 2, in the upper bits of each
RANDOM: Final = int.from_bytes(b"\x3f\xff\xff\xff\xff\xff\xff\xff" * BULK)


class _Source:
    """Gives out each tick once, in rising order, with a random second half of the id.

    The package uuid6 adds a whole millisecond to an id that would not rise otherwise. So its ids
    run ahead of the clock, for hours after a big import. Ticks run ahead only above 4 million ids a
    second. Random bits are read and written in bulk: a system call for each id would double the
    cost of an id.
    """

    def __init__(self) -> None:
        self.begin()
        os.register_at_fork(after_in_child=self.begin)  # otherwise both have the same bits

    def begin(self) -> None:
        self._lock, self._latest = Lock(), 0
        self._halves: list[str] = []
        self._head = -1, ""  # of the ids of one millisecond

    def take(self) -> str:
        now = time_ns() * TICKS_PER_MS // 1_000_000
        with self._lock:
            self._latest = tick = now if now > self._latest else self._latest + 1
            if not self._halves:
                self._halves = _halves()
            half = self._halves.pop()
        ms, fraction = divmod(tick, TICKS_PER_MS)
        known, head = self._head
        if ms != known:
            text = f"{ms:012x}"  # formatted here, since a UUID object takes ten times longer
            head = f"{text[:8]}-{text[8:]}-7"
            self._head = ms, head
        return f"{head}{fraction:03x}-{half}"


def _halves() -> list[str]:
    bits = int.from_bytes(os.urandom(8 * BULK)) & RANDOM | VARIANT
    text = bits.to_bytes(8 * BULK).hex()
    return [f"{text[n : n + 4]}-{text[n + 4 : n + 16]}" for n in range(0, len(text), 16)]


_source = _Source()


def new_id() -> str:
    """Make an id above every earlier one of this process, so that a batch keeps its order."""
    return _source.take()
