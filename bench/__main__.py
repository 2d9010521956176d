"""python -m bench: measure the server against PostgreSQL alone. See docs/performance.md."""

import argparse
import multiprocessing
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import memory, report
from bench.database import Database
from bench.dataset import Dataset
from bench.paths import PATHS, BenchPath, Target
from bench.slices import BAR_CLIENTS, Row, compare
from bench.stack import Stack
from ojs_project.postgres import Cluster


def main() -> int:
    """Run the chosen paths; with --check 1 when a bar is missed."""
    options = _options()
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        targets = _targets(stack, folder, options)
        print(report.HEAD, flush=True)
        rows = list(_run(targets, options))
        missed = _conclude(rows, targets, folder)
    return 1 if options.check and missed else 0


def _options() -> argparse.Namespace:
    names = [path.name for path in PATHS]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--clients", default="1,8,32", help="numbers of connections")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one slice")
    parser.add_argument("--slices", type=int, default=3, help="slices per path and limit")
    parser.add_argument("--only", default="", help=f"of {','.join(names)}")
    parser.add_argument("--finished", type=int, default=1_000_000, help="0: no history at all")
    parser.add_argument("--available", type=int, default=200_000, help="waiting jobs")
    parser.add_argument("--lanes", type=int, default=1000, help="tenants that share the queue")
    parser.add_argument("--no-empty", action="store_true", help="measure with the history only")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    options = parser.parse_args()
    options.clients = [int(number) for number in options.clients.split(",")]
    chosen = [name for name in options.only.split(",") if name] or names
    if unknown := set(chosen) - set(names):
        parser.error(f"unknown path: {', '.join(sorted(unknown))}")
    options.paths = [path for path in PATHS if path.name in chosen]
    return options


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ojs-bench-"))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _targets(stack: ExitStack, folder: Path, options: argparse.Namespace) -> list[Target]:
    cluster = stack.enter_context(Cluster(folder / "cluster"))
    admin = Database("postgres", cluster.sockets)
    client = stack.enter_context(
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    )
    sizes = [0] * (not options.no_empty or not options.finished)
    sizes += [options.finished] * bool(options.finished)
    targets = []
    for finished in sizes:
        database = Database("history" if finished else "empty", cluster.sockets)
        admin.run(f"CREATE DATABASE {database.name}")
        server = Stack(database, folder / database.name)
        stack.callback(server.stop)
        server.start()
        dataset = Dataset(database, finished, options.available, options.lanes)
        dataset.build()
        targets.append(Target(server, dataset, client, folder))
    return targets


def _run(targets: Sequence[Target], options: argparse.Namespace) -> Iterator[Row]:
    for path in options.paths:
        for clients in _clients(path, options.clients):
            for row in compare(path, targets, clients, options.seconds, options.slices):
                print(report.line(row), flush=True)
                yield row


def _clients(path: BenchPath, wanted: Sequence[int]) -> Sequence[int]:
    return wanted if path.is_http and path.is_repeated else [BAR_CLIENTS]


def _conclude(rows: Sequence[Row], targets: Sequence[Target], folder: Path) -> bool:
    """Print what needs all rows; returns whether a bar was missed."""
    compared = report.history(rows)
    print("", *(text for text, _, _ in compared), "", sep="\n")
    postmaster = int((folder / "cluster/postgres/postmaster.pid").read_text().split()[0])
    roots = [pid for target in targets for pid in target.stack.pids()] + [postmaster]
    print(*report.memory(memory.usage(roots)), sep="\n")
    return any(row.is_below for row in rows) or any(is_below for _, _, is_below in compared)


if __name__ == "__main__":
    sys.exit(main())
