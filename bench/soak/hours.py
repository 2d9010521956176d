"""python -m bench.soak.hours: a mixed load with faults for hours, and what grows meanwhile.

Samples memory, sizes and latencies each minute. Prints a table, writes a plot, and returns 1 if a
promise was broken: a lost job, a job handed out twice, a wrong answer, or memory that grows.
"""

import argparse
import random
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.faults.__main__ import LIVE, MISPLACED
from bench.faults.arena import START_S, Arena, ArenaError
from bench.faults.hurt import FAULTS, Finding, hurt
from bench.faults.load import Load
from bench.names import CLAIMED
from bench.scale.table import row
from bench.soak.judge import Judgement
from bench.soak.mix import Mix
from bench.soak.plot import plot
from bench.soak.watch import Probe, Sample, sample
from ojs_project.quickstart import MANAGE

KEPT: Final = "PT20M"  # after which ended jobs are removed
KNOWN_S: Final = 300.0  # after which a stored job is looked for a last time
SAMPLED_S: Final = 60.0
FAULT_S: Final = 60.0  # between two faults
DRAIN_S: Final = 110.0  # for the jobs that are left; less than the patience of the load
GROWS: Final = 1.15  # the memory of the last quarter relative to the second
LINES: Final = 12  # samples that are printed
PRESENT = "SELECT id::text FROM ojs_job WHERE id = ANY (%s::uuid[])"
PLOT = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "soak.svg"


class HoursArena(Arena):
    """A server that keeps ended jobs for a short time, and a `runworker`."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of all processes."""
        kept = ("COMPLETED", "CANCELLED", "DISCARDED", "DEAD_LETTER", "EVENTS")
        return super().environment | {f"OJS_RETENTION_{name}": KEPT for name in kept} | {
            "OJS_RETENTION_MINUTES": "PT1H",
            "OJS_LOG_SAMPLE": "0.01",
        }  # fmt: skip

    def begin_worker(self) -> None:
        """Start a worker, which is started again when it ends."""
        self.keep("worker", *MANAGE, "runworker", "--no-loops", "--queues", CLAIMED)


@dataclass
class Soak:
    """A run: its samples, findings and lost jobs."""

    arena: HoursArena
    load: Load
    mix: Mix
    probe: Probe
    samples: list[Sample] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    stored: int = 0
    drained_until: float = 0.0

    def run(self, seconds: float, seed: int) -> None:
        """Sample each minute, and inject a fault each minute."""
        began = time.monotonic()
        over = threading.Event()
        sampling = threading.Thread(target=self._sample, args=(began, over), daemon=True)
        sampling.start()
        try:
            self._hurt(began + seconds, random.Random(seed))  # noqa: S311 - a repeatable order
        finally:
            over.set()
            sampling.join()

    def _hurt(self, until: float, draw: random.Random) -> None:
        waiting: list[str] = []
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(FAULT_S, left))
            if time.monotonic() >= until:
                return
            waiting = waiting or draw.sample(list(FAULTS), len(FAULTS))
            name = waiting.pop()
            try:
                self.findings += hurt(name, self.arena, self.load, draw)
            except ArenaError as problem:
                found = Finding(name, str(problem), "the run goes on", "stuck", is_kept=False)
                self.findings.append(found)

    def _sample(self, began: float, over: threading.Event) -> None:
        older: list[tuple[float, set[str]]] = []
        seen: set[str] = set()
        while not over.wait(SAMPLED_S):
            if found := sample(self.arena, self.probe, began):
                self.samples.append(found)
                now = time.monotonic()
                new = set(self.load.journal.stored) - seen
                seen |= new
                older.append((now, new))
                while older and now - older[0][0] > KNOWN_S:
                    seen -= self._look_for(older.pop(0)[1])

    def _look_for(self, ids: set[str]) -> set[str]:
        """Check that stored jobs exist, and forget them before retention removes them."""
        self.lost |= ids - {found[0] for found in self.arena.rows(PRESENT, list(ids))}
        self.stored += len(ids)
        self.load.journal.forget(ids)
        return ids

    def _is_drained(self) -> bool:
        is_late = time.monotonic() > self.drained_until
        if self.arena.rows(LIVE)[0][0] and not is_late:
            return False
        self.mix.stop()
        self.probe.stop()
        return True

    def judged(self) -> Iterator[Judgement]:
        """End the load, and yield the facts and the promises."""
        self.mix.end_producers()
        self.probe.end_producer()
        self.drained_until = time.monotonic() + DRAIN_S
        self.load.stop(self._is_drained)
        self._look_for(set(self.load.journal.stored))
        journal = self.load.journal
        yield Judgement("acknowledged jobs", f"{self.stored:,}")
        yield Judgement("faults", str(len({(one.fault, one.done) for one in self.findings})))
        yield _none("acknowledged jobs that are lost", self.lost)
        yield _none("jobs handed out twice in a live lease", journal.doubled)
        yield _none("wrong answers", journal.wrong)
        live = self.arena.rows(LIVE)[0][0]
        yield Judgement("jobs that did not end", str(live), live == 0)
        yield _none("jobs in no state or in two", self.arena.rows(MISPLACED))
        yield _none("other promises broken in faults", [f for f in self.findings if not f.is_kept])
        for role, factor in growth(self.samples).items():
            yield Judgement(
                f"memory of {role}: last quarter / second", f"{factor:.2f}", factor < GROWS
            )


def _none(what: str, found: Sequence[object] | set[str]) -> Judgement:
    return Judgement(what, f"{len(found):,}", not found)


def growth(samples: Sequence[Sample]) -> dict[str, float]:
    """Return for each role the mean memory of the last quarter relative to the second."""
    quarter = len(samples) // 4
    if not quarter:
        return {}
    roles = set.intersection(*(set(one.memory) for one in samples))
    found = {}
    for role in sorted(roles):
        values = [one.memory[role] for one in samples]
        found[role] = sum(values[-quarter:]) / sum(values[quarter : 2 * quarter])
    return found


def table(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield a Markdown table of some of the samples."""
    yield row(["minute", "HTTP process, MiB", "loops", "worker", "tables, MiB", "indexes", "jobs",
               "not ended", "enqueue, ms", "p99", "start, ms", "p99"])  # fmt: skip
    yield row(["---:"] * 12)
    step = max(1, len(samples) // LINES)
    for one in samples[step - 1 :: step]:
        memory = (one.memory.get(role, 0) for role in ("HTTP process", "loops", "worker process"))
        yield row([
            f"{one.minute:.0f}", *(f"{mib:.0f}" for mib in memory), f"{one.tables:.0f}",
            f"{one.indexes:.0f}", f"{one.jobs:,}", f"{one.live:,}",
            *(f"{ms:.1f}" for ms in (*one.enqueue, *one.start)),
        ])  # fmt: skip


def main() -> int:
    """Run, print the tables, write the plot, and return whether a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak.hours", description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--plot", type=Path, default=PLOT, help="where the plot is stored")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    folder = Path(tempfile.mkdtemp(prefix="ojs-soak-"))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    print(f"seed {options.seed}, {options.hours:g} hours\n", flush=True)
    broken = True
    try:
        with HoursArena(folder) as arena:
            arena.begin_worker()
            arena.wait_until_ready(START_S)
            load = Load(arena.url, options.seed)
            soak = Soak(arena, load, Mix(load, options.seed), Probe(load))
            soak.run(options.hours * 3600, options.seed)
            lines = list(soak.judged())
        broken = any(line.is_kept is False for line in lines)
        print(*table(soak.samples), "", "| | seen | |", "|---|---:|---|", *lines, sep="\n")
        print(
            *(one for one in soak.findings if not one.is_kept), *load.journal.wrong[:20], sep="\n"
        )
        if soak.samples:
            options.plot.write_text(plot(f"{options.hours:g} hours of mixed load", soak.samples))
    finally:
        if broken:
            print(f"\nthe logs are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return broken


if __name__ == "__main__":
    sys.exit(main())
