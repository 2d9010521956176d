"""python -m bench.faults: inject faults into a server under load, in an order from a seed.

Prints for each fault the action, the promise of the server and the observed result. Returns 1 if a
promise was broken.
"""

import argparse
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.faults.arena import Arena, ArenaError
from bench.faults.hurt import FAULTS, HEAD, Finding, hurt
from bench.faults.load import Load

MISPLACED = """
SELECT j.id::text FROM ojs_job AS j
  LEFT JOIN (SELECT id FROM ojs_ready UNION ALL SELECT id FROM ojs_lease UNION ALL
             SELECT id FROM ojs_later UNION ALL SELECT id FROM ojs_finished) AS n USING (id)
 GROUP BY j.id HAVING count(n.id) <> 1
"""
COMPLETED = 6
LIVE = "SELECT count(*)::int FROM ojs_job WHERE state IS NULL"


def main() -> int:
    """Run until the time is over, each fault at least once."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    print(f"seed {options.seed}, {options.minutes:g} minutes\n", HEAD, sep="\n", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="ojs-faults-"))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    broken: list[Finding] = []
    try:
        for finding in run(folder, options.faults, options.seed, options.minutes * 60):
            print(finding, flush=True)
            broken += [] if finding.is_kept else [finding]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{len(broken)} promises were broken", *broken, sep="\n")
    return bool(broken)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--minutes", type=float, default=30.0, help="of faults")
    parser.add_argument("--only", default="", help=f"of {','.join(FAULTS)}")
    options = parser.parse_args()
    options.faults = [name for name in options.only.split(",") if name] or list(FAULTS)
    if unknown := set(options.faults) - set(FAULTS):
        parser.error(f"unknown fault: {', '.join(sorted(unknown))}")
    return options


def run(folder: Path, faults: list[str], seed: int, seconds: float) -> Iterator[Finding]:
    """Yield the findings of each fault, and finally of all jobs together."""
    draw = random.Random(seed)  # noqa: S311 - a repeatable order
    with Arena(folder) as arena:
        load = Load(arena.url, seed)
        over = time.monotonic() + seconds
        waiting: list[str] = []
        done: set[str] = set()
        while time.monotonic() < over or done < set(faults):
            if not waiting:
                waiting = draw.sample(faults, len(faults))
            name = waiting.pop()
            done.add(name)
            try:
                yield from hurt(name, arena, load, draw)
            except ArenaError as problem:
                yield Finding(name, str(problem), "the run goes on", "stuck", is_kept=False)
            time.sleep(draw.uniform(0.5, 2))
        load.stop(lambda: arena.rows(LIVE)[0][0] == 0)
        yield from _conclude(arena, load)


def _conclude(arena: Arena, load: Load) -> Iterator[Finding]:
    journal = load.journal
    stored, live = len(journal.stored), arena.rows(LIVE)[0][0]
    rows = arena.rows("SELECT id::text, state FROM ojs_job")
    completed = {job_id for job_id, state in rows if state == COMPLETED}
    lost = journal.stored - {row[0] for row in rows}
    undone = journal.completed - completed
    misplaced = arena.rows(MISPLACED)

    def found(promise: str, number: int) -> Finding:
        done = f"{stored} jobs enqueued, {len(completed)} completed"
        return Finding("all", done, f"{promise}: 0", str(number), is_kept=number == 0)

    yield found("jobs lost", len(lost))
    yield found("completions lost", len(undone))
    yield found("jobs in no state or in two", len(misplaced))
    yield found("jobs that did not end", live)
    yield found("handed out twice in a live lease", len(journal.doubled))
    for text in sorted(set(journal.doubled + journal.wrong)):
        print("  ", text)


if __name__ == "__main__":
    sys.exit(main())
