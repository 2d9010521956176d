"""python -m bench.fairness: test the promises of fair scheduling on a real server.

Prints each property with its bound and the worst value found. See docs/performance.md.
"""

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.database import Database
from bench.fairness import cost, queues, tenants
from bench.fairness.finding import HEAD, Finding
from bench.fairness.stage import Stage
from bench.memory import Peaks
from bench.stack import Stack
from ojs_project.postgres import Cluster

SCOPES = "worker,ojs:admin:read,ojs:admin:write"
Scenario = Callable[[Stage], Iterator[Finding]]


def main() -> int:
    """Run the chosen scenarios; returns 1 if a bound was missed."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    print(f"seed {options.seed}, {options.fetchers} fetchers\n", HEAD, sep="\n", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="ojs-fairness-"))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    try:
        with Cluster(folder / "cluster") as cluster:
            return _run(Database("fairness", cluster.sockets), cluster, folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.fairness", description=__doc__)
    names = ",".join(_scenarios(is_quick=True))
    parser.add_argument("--only", default="", help=f"of {names}")
    parser.add_argument("--seed", type=int, default=None, help="of weights, sizes and stocks")
    parser.add_argument("--fetchers", type=int, default=16, help="at the same time")
    parser.add_argument("--quick", action="store_true", help="small backlogs, a few minutes")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = secrets.randbelow(1_000_000)
    scenarios = _scenarios(is_quick=options.quick)
    chosen = [name for name in options.only.split(",") if name] or list(scenarios)
    if unknown := set(chosen) - set(scenarios):
        parser.error(f"unknown scenario: {', '.join(sorted(unknown))}")
    options.scenarios = [scenarios[name] for name in chosen]
    return options


def _scenarios(*, is_quick: bool) -> dict[str, Scenario]:
    size = queues.QUICK if is_quick else queues.WHOLE
    slices = 5 if is_quick else 20
    return {
        "weighted": partial(queues.weighted, size=size),
        "least": partial(queues.least_ratio, size=size),
        "cycles": partial(queues.cycles, size=size),
        "work": partial(queues.conserved, size=size),
        "burst": partial(tenants.burst, jobs=10_000 if is_quick else 100_000),
        "shared": partial(tenants.shared, starts=2000 if is_quick else 5000),
        "together": partial(tenants.together, starts=2000 if is_quick else 5000),
        "cost": partial(cost.of_queues, slices=slices),
        "tenants": partial(
            cost.of_tenants, slices=slices, tenants=1000 if is_quick else 10_000, each=100
        ),
    }


def _run(database: Database, cluster: Cluster, folder: Path, options: argparse.Namespace) -> int:
    Database("postgres", cluster.sockets).run(f"CREATE DATABASE {database.name}")
    server = Stack(database, folder / "server", Peaks(), scopes=SCOPES)
    missed = 0
    try:
        server.start()
        stage = Stage(server, options.fetchers, options.seed)
        for scenario in options.scenarios:
            for finding in scenario(stage):
                print(finding, flush=True)
                missed += not finding.is_met
    finally:
        server.stop()
    print(f"\n{missed} bounds missed" if missed else "\nall bounds hold")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
