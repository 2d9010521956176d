"""CPU time by part of a server: HTTP, loops, worker, PostgreSQL, and the load generator."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from bench.memory import PROC, below

Seconds = dict[str, float]  # CPU time by part
TICKS: Final = os.sysconf("SC_CLK_TCK")
PARTS: Final = (  # the first part with a word of the command line
    ("PgBouncer", ("pgbouncer",)),
    ("HTTP", ("gunicorn", "granian")),
    ("worker", ("--no-loops", "--child")),
    ("loops", ("runworker",)),
)


def of_server(pid: int) -> Seconds:
    """Return the CPU seconds of a server's processes so far, by part."""
    found: Seconds = {}
    for each in [pid, *below(pid)]:
        command = _command(each)
        part = next((part for part, words in PARTS if any(w in command for w in words)), "other")
        found[part] = found.get(part, 0.0) + _seconds(each)
    return found


def of_database(postmaster: int, name: str) -> Seconds:
    """Return the CPU seconds of PostgreSQL's processes: sessions of one database, and others."""
    found: Seconds = {}
    for each in below(postmaster):
        command = _command(each)
        if f" {name} " in command:
            part = "PostgreSQL"
        elif "[" not in command:  # no session: writers of pages and WAL, autovacuum
            part = "PostgreSQL's writers"
        else:
            continue
        found[part] = found.get(part, 0.0) + _seconds(each)
    return found


def total(parts: Iterable[Mapping[str, float]]) -> Seconds:
    """Return the sum of CPU seconds by part."""
    found: Seconds = {}
    for one in parts:
        for part, seconds in one.items():
            found[part] = found.get(part, 0.0) + seconds
    return found


def difference(after: Mapping[str, float], before: Mapping[str, float]) -> Seconds:
    """Return the CPU seconds between two looks."""
    return {part: max(0.0, s - before.get(part, 0.0)) for part, s in after.items()}


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
