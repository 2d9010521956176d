"""CPU time of all processes of the benchmark, ended processes included.

On a shared machine, rates depend on the other load; the CPU time per job does not.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.memory import PROC, below

OWN, REAPED = slice(11, 13), slice(13, 15)  # user and system ticks in /proc/<pid>/stat


@dataclass(slots=True)
class Meter:
    """CPU seconds between the ends of a `with` block; 0 without /proc."""

    seconds: float = 0.0


@contextmanager
def metered() -> Iterator[Meter]:
    """Measure clients, server processes and PostgreSQL, not this process itself."""
    meter = Meter()
    before = _ticks()
    yield meter
    meter.seconds = (_ticks() - before) / os.sysconf("SC_CLK_TCK")


def _ticks() -> int:
    me = os.getpid()
    return sum(_fields(me, REAPED)) + sum(
        ticks for pid in below(me) for part in (OWN, REAPED) for ticks in _fields(pid, part)
    )


def _fields(pid: int, part: slice) -> list[int]:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return []
    return [int(word) for word in text.rpartition(")")[2].split()[part]]
