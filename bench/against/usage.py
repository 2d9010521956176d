"""CPU time by part of a server: HTTP, loops, worker, PostgreSQL, and the load generator."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.memory import PROC, below

TICKS: Final = os.sysconf("SC_CLK_TCK")
PARTS: Final = (  # the first part with a word of the command line
    ("HTTP", ("gunicorn", "granian")),
    ("worker", ("--no-loops",)),
    ("loops", ("runworker",)),
)


def of_server(pid: int) -> Counter[str]:
    """Return the CPU seconds of a server's processes so far, by part."""
    found: Counter[str] = Counter()
    for each in [pid, *below(pid)]:
        command = _command(each)
        part = next((part for part, words in PARTS if any(w in command for w in words)), "other")
        found[part] += _seconds(each)
    return found


def of_database(postmaster: int, name: str) -> Counter[str]:
    """Return the CPU seconds of PostgreSQL's processes: sessions of one database, and others."""
    found: Counter[str] = Counter()
    for each in below(postmaster):
        command = _command(each)
        if f" {name} " in command:
            found["PostgreSQL"] += _seconds(each)
        elif "[" not in command:  # no session: writers of pages and WAL, autovacuum
            found["PostgreSQL's writers"] += _seconds(each)
    return found


def difference(after: Mapping[str, float], before: Mapping[str, float]) -> Counter[str]:
    """Return the CPU seconds between two looks."""
    return Counter({part: max(0.0, s - before.get(part, 0.0)) for part, s in after.items()})


def _command(pid: int) -> str:
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode(errors="replace")


def _seconds(pid: int) -> float:
    """Return user and system time of a process, with its ended children."""
    try:
        text = (Path(PROC) / str(pid) / "stat").read_text()
    except OSError:
        return 0.0
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS
