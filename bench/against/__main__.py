"""python -m bench.against BASE: compare this version with another, path by path.

Both run on one PostgreSQL with default settings, and take turns slice by slice. See
docs/performance.md.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.against import usage
from bench.against.scenarios import SCENARIOS, WORKER, worker_backlog
from bench.against.version import Version
from bench.database import Database
from bench.load import Measured, drive
from bench.names import CLAIMED
from bench.slices import percentile
from ojs_project.postgres import Cluster

NAMES = (*(one.name for one in SCENARIOS), *WORKER)
WARM_S = 1.0
WORKER_RATE = 60_000  # jobs per second that no version reaches
WARM_JOBS = 2_000


@dataclass
class Side:
    """The slices of one version on one path."""

    slices: list[Measured] = field(default_factory=list)
    cpu: usage.Seconds = field(default_factory=dict)
    jobs: int = 0

    def add(self, measured: Measured, cpu: usage.Seconds) -> None:
        """Take one slice."""
        self.slices.append(measured)
        self.cpu = usage.total((self.cpu, cpu))
        self.jobs += measured.jobs


def main() -> int:
    """Measure the chosen paths."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        cluster = stack.enter_context(Cluster(folder / "cluster", {}))
        versions = [
            _version(stack, cluster, folder, name, commit)
            for name, commit in (("base", options.base), ("this", options.commit))
        ]
        print(HEAD, flush=True)
        for name in options.paths:
            for clients in options.clients if name not in WORKER else [0]:
                _compare(name, clients, versions, cluster, options)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.against", description=__doc__)
    parser.add_argument("base", help="the commit or tag to compare with")
    parser.add_argument("--commit", default="HEAD", help="the commit to measure")
    parser.add_argument("--paths", default=",".join(NAMES))
    parser.add_argument("--clients", default="8,32", help="numbers of connections")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one slice")
    parser.add_argument("--slices", type=int, default=7, help="slices per path and version")
    options = parser.parse_args()
    options.clients = [int(number) for number in options.clients.split(",")]
    options.paths = options.paths.split(",")
    if unknown := set(options.paths) - set(NAMES):
        parser.error(f"unknown path: {', '.join(sorted(unknown))}")
    return options


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ojs-against-"))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _version(stack: ExitStack, cluster: Cluster, folder: Path, name: str, commit: str) -> Version:
    version = Version(name, commit, folder / name, Database(f"ojs_{name}", cluster.sockets))
    Database("postgres", cluster.sockets).run(f"CREATE DATABASE {version.database.name}")
    stack.callback(version.stop)
    version.build()
    version.start()
    return version


# --- slices ---------------------------------------------------------------------------------------


def _compare(
    name: str, clients: int, versions: Sequence[Version], cluster: Cluster,
    options: argparse.Namespace,
) -> None:  # fmt: skip
    sides = {version.name: Side() for version in versions}
    for version in versions:
        _slice(name, clients, version, cluster, WARM_S)
    for n in range(options.slices):
        for version in versions if n % 2 else reversed(versions):
            sides[version.name].add(*_slice(name, clients, version, cluster, options.seconds))
    for line in _lines(name, clients, sides):
        print(line, flush=True)


def _slice(
    name: str, clients: int, version: Version, cluster: Cluster, seconds: float
) -> tuple[Measured, usage.Seconds]:
    """Load a version for some seconds; returns the result and the CPU seconds by part."""
    if name in WORKER:
        return _worked(WORKER[name], version, cluster, seconds)
    scenario = next(one for one in SCENARIOS if one.name == name)
    cycle = scenario.begin(version.port, seconds)
    before = _cpu(version, cluster)
    measured = drive(version.port, cycle, clients, seconds)
    return measured, usage.difference(_cpu(version, cluster), before)


def _worked(
    tenants: int, version: Version, cluster: Cluster, seconds: float
) -> tuple[Measured, usage.Seconds]:
    """Let `runworker` work for some seconds."""
    worker_backlog(version.port, round(WORKER_RATE * (seconds + 1)), tenants)
    process = version.begin_worker()
    try:
        first = _waiting(version)
        while first - _waiting(version) < WARM_JOBS and process.poll() is None:
            time.sleep(0.1)
        cpu, began, before = _cpu(version, cluster), time.perf_counter(), _waiting(version)
        time.sleep(seconds)
        took, after = time.perf_counter() - began, _waiting(version)
        used = usage.difference(_cpu(version, cluster), cpu)
    finally:
        version.end(process)
        version.database.run("TRUNCATE ojs_ready", "VACUUM (ANALYZE) ojs_ready, ojs_lane")
    return Measured(before - after, took), used


def _cpu(version: Version, cluster: Cluster) -> usage.Seconds:
    postmaster = int((cluster.data / "postmaster.pid").read_text().split()[0])
    return usage.total(
        [
            usage.of_database(postmaster, version.database.name),
            *(usage.of_server(process.pid) for process in version.processes),
        ]
    )


def _waiting(version: Version) -> int:
    return version.database.number(
        "SELECT (SELECT count(*) FROM ojs_ready AS r JOIN ojs_lane AS l ON l.id = r.lane_id"  # noqa: S608
        f" WHERE l.queue = '{CLAIMED}') + (SELECT count(*) FROM ojs_lease)"
    )


# --- report ---------------------------------------------------------------------------------------

HEAD = (
    f"{'path':12} {'n':>3} {'base/s':>9} {'this/s':>9} {'ratio':>6} {'min-max':>11}"
    f" {'p50 ms':>12} {'p99 ms':>12}   CPU us per job"
)


def _lines(name: str, clients: int, sides: dict[str, Side]) -> Iterator[str]:
    base, this = sides["base"], sides["this"]
    pairs = zip(this.slices, base.slices, strict=True)
    ratios = sorted(new.rate / old.rate for new, old in pairs if old.rate)
    rate = {side: median(one.rate for one in found.slices) for side, found in sides.items()}
    late = {share: " / ".join(_late(sides[s], share) for s in sides) for share in (0.5, 0.99)}
    yield (
        f"{name:12} {clients or '':>3} {rate['base']:9,.0f} {rate['this']:9,.0f}"
        f" {median(ratios):6.2f} {ratios[0]:5.2f}-{ratios[-1]:<5.2f}"
        f" {late[0.5]:>12} {late[0.99]:>12}"
        f"   {_cpu_text(base)} -> {_cpu_text(this)}"
    )


def _late(side: Side, share: float) -> str:
    found = percentile([s * 1000 for one in side.slices for s in one.latencies], share)
    return "-" if found is None else f"{found:.1f}"


def _cpu_text(side: Side) -> str:
    generator = sum(one.client_cpu_s for one in side.slices)
    parts = {"generator": generator, **side.cpu} if generator else dict(side.cpu)
    shown = [
        f"{part} {s / side.jobs * 1e6:.0f}" for part, s in sorted(parts.items()) if s and side.jobs
    ]
    return ", ".join(shown)


if __name__ == "__main__":
    sys.exit(main())
