"""python -m bench.soak: run durable jobs while processes are killed, and count their effects.

Prints a table, and returns 1 if a run ended wrong or an effect is missing. Each order has three
steps, a sleep, a signal and a child job with a step.
"""

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.faults.__main__ import MISPLACED
from bench.soak.drive import KILLS, Drive, SoakArena
from bench.soak.judge import Judgement, judged
from bench.soak.names import EFFECTS_FILE

HEAD = "| | seen | promise |\n|---|---:|---|"


def main() -> int:
    """Run, print the table and return whether a promise was broken."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    folder = Path(tempfile.mkdtemp(prefix="ojs-soak-"))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    broken = False
    try:
        print(f"seed {options.seed}\n", HEAD, sep="\n", flush=True)
        for line in run(folder, options.jobs, options.minutes * 60, options.seed):
            print(line, flush=True)
            broken = broken or line.is_kept is False
    finally:
        if broken:
            print(f"\nthe logs are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return broken


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2000, help="orders")
    parser.add_argument("--minutes", type=float, default=10.0, help="of kills")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    return parser.parse_args()


def run(folder: Path, jobs: int, seconds: float, seed: int) -> Iterator[Judgement]:
    """Yield the lines of the table."""
    began = time.monotonic()
    with SoakArena(folder) as arena:
        arena.begin_workers()
        drive = Drive(arena, jobs, seed)
        has_ended = drive.run(seconds)
        yield Judgement("orders", f"{len(drive.numbers):,}", len(drive.numbers) == jobs)
        yield Judgement("seconds", f"{time.monotonic() - began:,.0f}")
        for kind in KILLS:
            yield Judgement(f"kill -9: {kind}", str(drive.kills[kind]))
        yield Judgement("signals", f"{drive.signals:,}")
        yield Judgement("jobs that did not end", "0" if has_ended else "some", has_ended)
        yield from judged(arena, folder / EFFECTS_FILE, drive.numbers)
        lost = len(arena.rows(MISPLACED))
        yield Judgement("jobs in no state or in two", str(lost), lost == 0)


if __name__ == "__main__":
    sys.exit(main())
