"""python -m bench.scale.cells: CPU per job with 1, 2 and 4 cells, and the move of a tenant.

Each cell has a PostgreSQL, one HTTP process and one process with the loops. The same connections
are spread over the cells. The numbers of cells take turns, slice by slice. Then a tenant moves from
one cell to another while a producer sends its jobs and a worker of each cell runs them. See
docs/scaling.md.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from bench import requests
from bench.against import usage
from bench.database import Database
from bench.folder import work_folder
from bench.load import Cycle, drive
from bench.scale.measure import Point, joined, rotation
from bench.scale.moving import Outcome, moved
from bench.scale.rig import ROLE, Place, Rig
from bench.scale.table import row
from ojs_project.postgres import Cluster

NUMBERS: Final = (1, 2, 4)  # of cells
CLIENTS: Final = 8
PARTS: Final = ("HTTP", "PostgreSQL", "loops")
# several clusters share the memory of the machine
CLUSTER: Final = {"max_connections": "150", "shared_buffers": "128MB"}
PATHS: Final[dict[str, Callable[[str], Callable[[], Cycle]]]] = {
    "`POST /jobs`": partial(requests.enqueue, 1),
    "enqueue, FETCH of 1, ACK": requests.cycle,
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A running cell."""

    place: Place
    point: Point

    @property
    def url(self) -> str:
        """The address of its server."""
        return f"http://127.0.0.1:{self.point.port}"


@dataclass(slots=True)
class Cost:
    """The sums of all slices of a path on a number of cells."""

    jobs: int = 0
    cpu: usage.Seconds = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)

    def add(self, jobs: int, rate: float, cpu: usage.Seconds) -> None:
        """Add one slice."""
        self.jobs += jobs
        self.cpu = usage.total([self.cpu, cpu])
        self.rates.append(rate)

    def cells(self) -> list[str]:
        """Return the figures: jobs per second, CPU microseconds per job, and these by part."""
        us = {part: seconds / max(1, self.jobs) * 1e6 for part, seconds in self.cpu.items()}
        return [
            f"{median(self.rates):,.0f}", f"{sum(us.values()):,.0f}",
            *(f"{us.get(part, 0.0):,.0f}" for part in PARTS),
        ]  # fmt: skip


def main() -> int:
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale.cells", description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one slice")
    parser.add_argument("--rounds", type=int, default=4, help="slices of each number of cells")
    parser.add_argument("--jobs", type=int, default=10_000, help="that wait when the tenant moves")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    with ExitStack() as ends:
        clients = ends.enter_context(ProcessPoolExecutor(max(NUMBERS)))
        folder = ends.enter_context(work_folder("ojs-cells-"))
        cells = [_cell(number, folder, ends) for number in range(max(NUMBERS))]
        print(*_table(cells, clients, options.rounds, options.seconds), sep="\n", flush=True)
        old, new = cells[:2]
        outcome = moved(
            (old.url, old.point.key), (new.url, new.point.key), options.jobs,
            lambda: old.place.stack.manage(
                "ojs", "move-tenant", "bench-tenant", "--address", new.url,
                "--to", new.place.stack.database.url,
            ),
        )  # fmt: skip
        print("", *_moved(outcome), sep="\n")
        return 0 if outcome.is_right else 1


def _cell(number: int, folder: Path, ends: ExitStack) -> Cell:
    own = folder / f"cell{number}"
    own.mkdir()
    cluster = ends.enter_context(Cluster(own / "cluster", CLUSTER))
    Database("postgres", cluster.sockets).run(f"CREATE ROLE {ROLE} LOGIN")
    rig = Rig(cluster, own, ends)
    place = rig.place(f"cell{number}")
    return Cell(place, rig.point("", place, CLIENTS, processes=1))


def _table(
    cells: Sequence[Cell], clients: ProcessPoolExecutor, rounds: int, seconds: float
) -> Iterator[str]:
    yield row(["path", "cells", "jobs/s here", "CPU, µs per job", *PARTS])
    yield row(["---", *["---:"] * (3 + len(PARTS))])
    for title, path in PATHS.items():
        costs = [Cost() for _ in NUMBERS]
        for order in rotation(len(NUMBERS), rounds):
            for n in order:
                costs[n].add(*_slice(cells[: NUMBERS[n]], clients, path, seconds))
        for number, cost in zip(NUMBERS, costs, strict=True):
            yield row([title if number == 1 else "", str(number), *cost.cells()])


def _slice(
    cells: Sequence[Cell],
    clients: ProcessPoolExecutor,
    path: Callable[[str], Callable[[], Cycle]],
    seconds: float,
) -> tuple[int, float, usage.Seconds]:
    """Drive all cells at once, each with its share of the connections.

    Returns jobs, jobs per second and CPU seconds by part.
    """
    share = CLIENTS // len(cells)
    before = usage.total(cell.point.cpu() for cell in cells)
    running = [
        clients.submit(drive, cell.point.port, path(cell.point.key), share, seconds)
        for cell in cells
    ]
    done = [one.result() for one in running]
    after = usage.total(cell.point.cpu() for cell in cells)
    jobs = sum(one.jobs for one in done)
    spent = joined(usage.difference(after, before))
    return jobs, jobs / max(one.seconds for one in done), spent


def _moved(outcome: Outcome) -> Iterator[str]:
    yield row(["move of a tenant under load", ""])
    yield row(["---", "---:"])
    yield row(["jobs moved", f"{outcome.moved:,}"])
    yield row(["seconds in which new jobs were refused", f"{outcome.refused_s:.1f}"])
    yield row(["jobs accepted", f"{outcome.accepted:,}"])
    yield row(["started in the old cell", f"{outcome.old_runs:,}"])
    yield row(["started in the new cell", f"{outcome.new_runs:,}"])
    yield row(["jobs lost", f"{outcome.lost:,}"])
    yield row(["jobs run twice", f"{outcome.twice:,}"])


if __name__ == "__main__":
    sys.exit(main())
