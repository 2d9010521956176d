"""python -m bench.drills.upgrade: upgrade from the last release, process by process, under load.

Two HTTP nodes, two loop nodes and two workers of the last release are replaced one after the other,
as docs/upgrading.md says. Producers repeat a failed request at the other node, as a client behind a
proxy does. Returns 1 if a request failed that this does not cover, or if a job was lost.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, LiteralString

import httpx
import psycopg

from bench.drills.fleet import Fleet
from bench.drills.load import Load, Window, runs, twice
from bench.drills.programs import DrillError, Process, Programs, wait_for
from bench.drills.running import run, work_folder
from bench.stack import free_port
from jobs import VERSION
from ojs_project.postgres import Cluster
from tests.upgrade import release

SMALL: Final = {"fsync": "on", "shared_buffers": "64MB", "max_connections": "300"}
NODES: Final = ("a", "b")
WARM: Final = 40  # accepted enqueues of each node in each step, while it serves
BOUND_S: Final = 180.0
MOST_TRIES: Final = 5  # of a client
HEAD: Final = f"{'step':44} {'seconds':>7} {'gap':>5} {'accepted':>8} {'tries':>5}  failed tries"
STORED = "SELECT id::text FROM ojs_job WHERE id = ANY (%s::uuid[])"
LIVE = "SELECT count(*)::int FROM ojs_job WHERE id = ANY (%s::uuid[]) AND state IS NULL"


@dataclass
class Upgrade:
    """The processes of both releases on one database, and the load."""

    cluster: Cluster
    programs: Programs
    old: Fleet
    new: Fleet
    load: Load
    processes: dict[str, Process]
    ids: set[str] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)

    def step(self, name: str, do: Callable[[], object]) -> None:
        """Do one step under load, and print what clients saw."""
        self.load.begin_window()
        do()
        if not self.load.wait_for_more(WARM, BOUND_S):
            self.broken.append(f"{name}: no enqueues are accepted")
        window = self.load.end_window()
        self.ids |= window.ids
        if window.most_tries > MOST_TRIES:
            self.broken.append(f"{name}: a request took {window.most_tries} tries")
        print(_line(name, window), flush=True)

    def replace_http(self, node: str) -> None:
        """Replace an HTTP node by one of the new release, at the same address."""
        port = int(self.old.urls[node].rpartition(":")[2])
        self.programs.end(self.processes[node])
        self.processes[node] = self.new.begin_http(node, port)

    def replace_loops(self, node: str) -> None:
        """Replace a loop node."""
        self.programs.end(self.processes[f"loops-{node}"])
        self.processes[f"loops-{node}"] = self.new.begin_loops(node, node)

    def replace_worker(self, node: str) -> None:
        """Replace a worker: it finishes its jobs first."""
        self.programs.end(self.processes[f"worker-{node}"])
        self.processes[f"worker-{node}"] = self.new.begin_worker(f"new-{node}", node)

    def conclude(self) -> None:
        """Stop the load, and print what became of all jobs."""
        self.load.stop()
        self.ids |= self.load.end_window().ids
        wanted = list(self.ids)
        try:
            wait_for("end of all jobs", lambda: self._rows(LIVE, wanted)[0][0] == 0, BOUND_S)
        except DrillError as problem:
            self.broken.append(str(problem))
        lost = len(self.ids - {row[0] for row in self._rows(STORED, wanted)})
        again = twice(runs(self.new.folder), self.ids)
        print(f"\n{len(self.ids)} jobs acknowledged, {lost} lost, {again} ran twice")
        versions = {httpx.get(f"{url}/ojs/v1/health").json()["version"] for url in self.urls}
        if lost or versions != {VERSION}:
            self.broken.append(f"{lost} jobs were lost, the nodes have {versions}")
        self.broken += sorted(set(self.load.unexpected))

    @property
    def urls(self) -> list[str]:
        """The addresses of the HTTP nodes."""
        return list(self.old.urls.values())

    def _rows(self, text: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.cluster.url) as connection:
            return connection.execute(text, values or None).fetchall()


def main() -> int:
    """Upgrade under load."""
    parser = argparse.ArgumentParser(prog="python -m bench.drills.upgrade", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    options = parser.parse_args()
    return run(lambda: _drill(keep=options.keep))


def _drill(*, keep: bool) -> int:
    with ExitStack() as ends:
        upgrade = _begin(ends.enter_context(work_folder(keep=keep)), ends)
        _upgrade(upgrade)
    if upgrade.broken:
        print(*upgrade.broken, sep="\n")
    return len(upgrade.broken)


def _upgrade(upgrade: Upgrade) -> None:
    print(f"from {release.version()} to {VERSION}\n{HEAD}", flush=True)
    upgrade.step("the last release alone", lambda: None)
    upgrade.step(
        "firststart of the new release", lambda: upgrade.new.manage(NODES[0], "firststart")
    )
    for node in NODES:
        upgrade.step(f"HTTP node {node} replaced", partial(upgrade.replace_http, node))
    for node in NODES:
        upgrade.step(f"loop node {node} replaced", partial(upgrade.replace_loops, node))
    for node in NODES:
        upgrade.step(f"worker {node} replaced", partial(upgrade.replace_worker, node))
    upgrade.step("the new release alone", lambda: None)
    upgrade.conclude()


def _begin(folder: Path, ends: ExitStack) -> Upgrade:
    """Start the last release, and its load."""
    cluster = Cluster(folder / "cluster", SMALL)
    ends.callback(cluster.stop)
    cluster.start()
    source = folder / "release"
    source.mkdir()
    release.unpack(source)
    programs = Programs(folder)
    ends.callback(programs.stop)
    ways = {node: {"DATABASE_URL": cluster.url} for node in NODES}
    old, new = Fleet(folder, programs, ways, source), Fleet(folder, programs, ways)
    new.secret = old.secret
    old.manage(NODES[0], "firststart")
    processes = {}
    for node in NODES:
        processes[node] = old.begin_http(node, free_port())
        processes[f"loops-{node}"] = old.begin_loops(node, node)
        processes[f"worker-{node}"] = old.begin_worker(node, node)
    load = Load(old.urls, changes_node=True)
    ends.callback(load.stop)
    return Upgrade(cluster, programs, old, new, load, processes)


def _line(name: str, window: Window) -> str:
    return (
        f"{name:44} {window.ended - window.began:7.1f} {window.whole_gap_s():5.1f}"
        f" {len(window.ids):8} {window.most_tries:5}  {window.named_errors()}"
    )


if __name__ == "__main__":
    sys.exit(main())
