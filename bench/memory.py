"""Memory of processes from /proc; empty where there is none."""

from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
KIB_PER_MIB = 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """One process; PSS shares what several processes map, None where it may not be read."""

    pid: int
    command: str
    rss_mib: float
    pss_mib: float | None


def usage(roots: list[int]) -> list[Usage]:
    """Return the processes of `roots` and everything below them."""
    found = (_usage(pid) for root in roots for pid in [root, *below(root)])
    return [item for item in found if item is not None]


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
    return Usage(pid, command.strip(), rss or 0.0, pss)


def _field(path: Path, name: str) -> float | None:
    for line in path.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / KIB_PER_MIB
    return None
