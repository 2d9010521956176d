"""Memory of processes from /proc; empty without /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

from ojs_project.postgres import bin_dir

PROC = Path("/proc")
KIB_PER_MIB = 1024
HTTP = "HTTP process"
ROLES = (  # the first role whose words are all in the command line
    (("runworker", "--child"), "worker process"),
    (("runworker", "--no-handlers"), "loops"),
    (("runworker",), "worker parent"),
    (("gunicorn",), HTTP),
    (("multiprocessing",), "load client"),
)


@dataclass(frozen=True, slots=True)
class Usage:
    """One process; PSS divides shared memory among its processes, None if it is unreadable."""

    pid: int
    role: str
    rss_mib: float
    pss_mib: float | None


def below(pid: int) -> list[int]:
    """Return the live descendants of a process."""
    try:
        text = " ".join(
            found.read_text() for found in (PROC / str(pid) / "task").glob("*/children")
        )
    except OSError:
        return []
    return [each for child in map(int, text.split()) for each in [child, *below(child)]]


def _usage(pid: int) -> Usage | None:
    folder = PROC / str(pid)
    try:
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        rss = _field(folder / "status", "VmRSS:")
    except OSError:
        return None
    try:
        pss = _field(folder / "smaps_rollup", "Pss:")
    except OSError:
        pss = None
    return Usage(pid, _role(command), rss or 0.0, pss)


def _role(command: str) -> str:
    if command.startswith(("postgres:", str(bin_dir() / "postgres"))):
        return "PostgreSQL process"
    return next((role for words, role in ROLES if all(w in command for w in words)), command[:40])


def _field(path: Path, name: str) -> float | None:
    for line in path.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / KIB_PER_MIB
    return None


class Peaks:
    """The peak memory of each process."""

    def __init__(self) -> None:
        """Begin without processes."""
        self._by_pid: dict[int, Usage] = {}

    def look(self) -> None:
        """Record the present memory of all processes that this process started."""
        for item in filter(None, map(_usage, below(os.getpid()))):
            known = self._by_pid.get(item.pid)
            if known is None or known.rss_mib < item.rss_mib:
                self._by_pid[item.pid] = item

    def of(self, role: str) -> list[Usage]:
        """Return the peaks of the processes of a role, the largest first."""
        found = (item for item in self._by_pid.values() if item.role == role)
        return sorted(found, key=lambda item: -item.rss_mib)

    def roles(self) -> list[str]:
        """Return the recorded roles."""
        return sorted({item.role for item in self._by_pid.values()})
