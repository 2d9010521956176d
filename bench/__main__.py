"""python -m bench: measure the server against PostgreSQL alone. See docs/performance.md."""

import argparse
import multiprocessing
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from bench import codecs, late, report, wake
from bench.database import Database
from bench.dataset import Dataset
from bench.folder import work_folder
from bench.limit import Limit, client_limit
from bench.load import Client
from bench.memory import Peaks
from bench.paths import PATHS, BenchPath, Target
from bench.slices import BAR_CLIENTS, Plan, Row, compare
from bench.stack import Stack
from ojs_project.postgres import Cluster

WAKE, LATE, CODECS = "wake", "late", "codecs"
QUICK = {
    "clients": "8", "seconds": 1, "slices": 2,
    "finished": 50_000, "available": 50_000, "samples": 50, "waiting": 50_000,
}  # fmt: skip
NAMES = (*(path.name for path in PATHS), WAKE, LATE, CODECS)


def main() -> int:
    """Run the chosen paths; a missed bar is no error."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    with ExitStack() as stack:
        folder = stack.enter_context(work_folder("ojs-bench-"))
        client = _client(stack, options.drivers)
        _print_limit(client_limit(client, max(options.clients), options.plan.seconds))
        peaks = Peaks()
        targets = _targets(stack, folder, client, peaks, options)
        wakes = wake.measure(targets[0].stack, options.samples) if options.wakes else None
        if wakes:
            print(report.wakes_line(wakes), "", sep="\n")
        print(report.HEAD, flush=True)
        rows = list(_run(targets, options))
        # last: its rows stay, and would change the results of other paths
        found = _late(targets[0], options) if options.late else None
        costs = list(codecs.measure()) if options.codecs else []
        _conclude(rows, wakes, found, peaks, costs)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--paths", default="", help=f"of {','.join(NAMES)}")
    parser.add_argument("--clients", default="1,8,32", help="numbers of connections")
    parser.add_argument("--seconds", type=int, default=2, help="length of one slice")
    parser.add_argument("--slices", type=int, default=5, help="slices per path and limit")
    parser.add_argument("--finished", type=int, default=1_000_000, help="0: no history at all")
    parser.add_argument("--available", type=int, default=200_000, help="waiting jobs")
    parser.add_argument("--lanes", type=int, default=1000, help="tenants that share the queue")
    parser.add_argument("--drivers", type=int, default=1, help="processes that send requests")
    parser.add_argument("--samples", type=int, default=300, help="jobs that measure the wake-up")
    parser.add_argument("--waiting", type=int, default=late.WAITING, help="jobs not due for long")
    parser.add_argument("--no-empty", action="store_true", help="measure with the history only")
    parser.add_argument("--quick", action="store_true", help="8 clients, short, small history")
    options = parser.parse_args()
    if options.quick:
        parser.set_defaults(**QUICK)
        options = parser.parse_args()
    options.plan = Plan(options.seconds, options.slices, 5.0 if options.quick else 20.0)
    options.clients = [int(number) for number in options.clients.split(",")]
    chosen = [name for name in options.paths.split(",") if name] or NAMES
    if unknown := set(chosen) - set(NAMES):
        parser.error(f"unknown path: {', '.join(sorted(unknown))}")
    options.paths = [path for path in PATHS if path.name in chosen]
    options.wakes, options.late, options.codecs = (one in chosen for one in (WAKE, LATE, CODECS))
    return options


def _client(stack: ExitStack, drivers: int) -> Client:
    context = multiprocessing.get_context("spawn")
    pool = stack.enter_context(ProcessPoolExecutor(drivers, mp_context=context))
    return Client(pool, drivers)


def _print_limit(limit: Limit) -> None:
    print(
        f"load generator alone, {limit.clients} connections: {limit.rate:,.0f} requests/s,"
        f" {limit.cpu_us:.0f} us of its CPU per request\n",
        flush=True,
    )


def _targets(
    stack: ExitStack, folder: Path, client: Client, peaks: Peaks, options: argparse.Namespace
) -> list[Target]:
    cluster = stack.enter_context(Cluster(folder / "cluster", late.CLUSTER if options.late else {}))
    admin = Database("postgres", cluster.sockets)
    sizes = [0] * (not options.no_empty or not options.finished)
    sizes += [options.finished] * bool(options.finished)
    targets = []
    for finished in sizes:
        database = Database("history" if finished else "empty", cluster.sockets)
        admin.run(f"CREATE DATABASE {database.name}")
        server = Stack(database, folder / database.name, peaks)
        stack.callback(server.stop)
        server.start()
        dataset = Dataset(database, finished, options.available, options.lanes)
        dataset.build()
        targets.append(Target(server, dataset, client, folder))
    return targets


def _run(targets: Sequence[Target], options: argparse.Namespace) -> Iterator[Row]:
    for path in options.paths:
        chosen = targets if path.on_all_datasets else targets[:1]
        for clients in options.clients if path.at_all_clients else [BAR_CLIENTS]:
            _warm(path, chosen, clients)
            for row in compare(path, chosen, clients, options.plan):
                print(report.line(row), flush=True)
                yield row


def _warm(path: BenchPath, targets: Sequence[Target], clients: int) -> None:
    """Let the server's threads connect and prepare statements before the measurement."""
    if path.is_http:
        for target in targets:
            for run in {path.serve, path.limit} if path.against == "plain" else {path.serve}:
                run(target, clients, 1)


def _late(target: Target, options: argparse.Namespace) -> late.Late:
    found = late.measure(target.stack.database, options.waiting, 10 * options.plan.seconds)
    print("", report.late_line(found), sep="\n", flush=True)
    return found


def _conclude(
    rows: Sequence[Row],
    wakes: wake.Wakes | None,
    found: late.Late | None,
    peaks: Peaks,
    costs: Sequence[codecs.Cost],
) -> None:
    verdicts = [*report.of_rows(rows), *report.of_history(rows), *report.of_memory(peaks)]
    if wakes:
        verdicts.append(report.of_wake(wakes))
    if found:
        verdicts += report.of_late(found)
    verdicts += report.of_codecs(costs)
    print("", *report.memory(peaks), "", *verdicts, sep="\n")


if __name__ == "__main__":
    sys.exit(main())
