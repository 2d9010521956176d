"""python -m bench.drills.failover: what a failover of PostgreSQL costs clients, under load.

Three PostgreSQL nodes with Patroni, etcd, HAProxy and PgBouncer run on loopback, with two HTTP
nodes, two loop nodes and three workers. Each fault prints a line. Returns 1 if a bar was missed.
With --ci, only a lost job, a job that ran twice, a write to an old primary or a hang is a failure:
latency depends on the load of the machine. See docs/high-availability.md.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

import psycopg

from bench.drills.cluster import ROLE, Cluster, Node, Ports
from bench.drills.fleet import Fleet
from bench.drills.load import Load, Window, done_by, runs, twice
from bench.drills.programs import (
    TOOLS,
    DrillError,
    Programs,
    check_programs,
    missing_program,
    signal_all,
    wait_for,
)  # fmt: skip
from bench.drills.running import run, work_folder
from bench.faults.arena import family

POOLED: Final = "pooler"
HOSTS: Final = "hosts"
SWITCHOVER_S: Final = 5.0
FAILOVER_S: Final = 30.0
NO_ETCD_S: Final = 25.0  # longer than `ttl`
WARM: Final = 50  # accepted enqueues of each node before a fault, and after it
BOUND_S: Final = 120.0
AT_ONCE_S: Final = 2.0  # after the return of an old primary
HANGS_S: Final = 10.0  # for which its Patroni hangs
ALONE_S: Final = 5.0  # for which it runs before its Patroni starts
SILENCE_S: Final = 30.0  # the jobs of a worker without a sign of life for so long run again
END_S: Final = 120.0
PATRONI: Final = "the folder with the packages of Patroni; empty: those of the system"
HEAD: Final = (
    f"{'fault':34} {'PgBouncer':>9} {'hosts':>6} {'bar':>5} {'accepted':>8} {'lost':>5}"
    f" {'not ended':>9} {'twice':>5}  errors of clients"
)
PRESENT = "SELECT id::text FROM ojs_job WHERE id = ANY (%s::uuid[])"
EVENTS = "SELECT count(*)::int FROM ojs_event"
SESSIONS = "SELECT count(*)::int FROM pg_stat_activity WHERE usename = 'ojs'"
WHERE = """SELECT w.standing, count(*)::int
    FROM (SELECT r.id, 'available' AS standing FROM ojs_ready AS r UNION ALL
          SELECT a.id, 'active at ' || coalesce(a.worker_id, '?') || ', attempt ' || a.attempt
          FROM ojs_lease AS a UNION ALL
          SELECT l.id, 'waiting' FROM ojs_later AS l) AS w
    WHERE w.id = ANY (%s::uuid[]) GROUP BY 1 ORDER BY 1"""
SIGNS = """SELECT id, extract(epoch FROM now() - last_heartbeat_at)::int FROM ojs_worker
    WHERE stopped_at IS NULL ORDER BY id"""
LIVE = "SELECT id::text FROM ojs_job WHERE id = ANY (%s::uuid[]) AND state IS NULL"


@dataclass
class Result:
    """A fault with the window of its clients."""

    name: str
    window: Window
    bar_s: float
    lost: int = 0
    left: int = 0
    twice: int = 0
    notes: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the line of the table, with notes below it."""
        window = self.window
        pooled, hosts = window.gap_s(POOLED), window.gap_s(HOSTS)
        line = (
            f"{self.name:34} {pooled:9.1f} {hosts:6.1f} {self.bar_s:5.0f} {len(window.ids):8}"
            f" {self.lost:5} {self.left:9} {self.twice:5}  {window.named_errors()}"
        )
        return "\n".join([line, *(f"    {note}" for note in [*self.notes, *self.broken])])


@dataclass
class Drill:
    """The cluster under load."""

    cluster: Cluster
    fleet: Fleet
    load: Load
    is_quick: bool  # without a wait until all nodes take part again
    is_ci: bool  # a missed bar is no failure

    def measure(self, name: str, bar_s: float, hurt: Callable[["Result"], None]) -> Result:
        """Inject one fault, wait until the cluster is complete, and count."""
        self.cluster.wait_until_complete()
        if not self.load.wait_for_more(WARM, BOUND_S):
            raise DrillError(f"before {name}: no enqueues were accepted")
        self.load.begin_window()
        result = Result(name, Window(0.0), bar_s)
        hurt(result)
        if not self.load.wait_for_more(WARM, BOUND_S):
            result.broken.append("BROKEN: a node accepts no enqueues")
        if not self.is_quick:
            took = self.cluster.wait_until_complete()
            result.notes.append(f"the cluster was complete again {took:.0f} s later")
        result.window = self.load.end_window()
        self._count(result)
        return result

    def _count(self, result: Result) -> None:
        ids = list(result.window.ids)
        present = {row[0] for row in self.cluster.rows(PRESENT, ids)}
        lost = result.window.ids - present
        result.lost = len(lost)
        try:
            wait_for("end of all jobs", lambda: self._live(ids) == 0, END_S)
        except DrillError:
            result.left = self._live(ids)
            result.broken.append(f"BROKEN: jobs did not end; {self._explanation(ids)}")
        result.twice = twice(runs(self.fleet.folder), present)
        worst = max(result.window.gap_s(POOLED), result.window.gap_s(HOSTS))
        if worst > result.bar_s:
            text = f"{worst:.1f} s without accepted enqueues"
            if self.is_ci:
                result.notes.append(f"bar missed, which is no failure here: {text}")
            else:
                result.broken.append(f"BROKEN: {text}")
        if self.is_ci and result.twice and worst < SILENCE_S:
            result.broken.append("BROKEN: jobs ran twice though no worker was silent for long")
        if lost and self.cluster.is_synchronous:
            result.broken.append("BROKEN: acknowledged jobs were lost in synchronous mode")

    def _explanation(self, ids: list[str]) -> str:
        standings = ", ".join(f"{standing}: {n}" for standing, n in self.cluster.rows(WHERE, ids))
        signs = ", ".join(f"{name}: {age_s}" for name, age_s in self.cluster.rows(SIGNS))
        done = ", ".join(f"{name}: {n}" for name, n in done_by(self.fleet.folder).items())
        ran = runs(self.fleet.folder)
        standings += (
            f", of which {sum(1 for (one,) in self.cluster.rows(LIVE, ids) if ran[one])} ran"
        )
        return f"{standings}; seconds since a sign of workers: {signs}; jobs run by each: {done}"

    def _live(self, ids: list[str]) -> int:
        try:
            return len(self.cluster.rows(LIVE, ids))
        except psycopg.Error:
            return -1

    # --- the faults -------------------------------------------------------------------------------

    def switch_over(self, result: Result) -> None:
        """Hand over by plan."""
        self.cluster.switch_over(self.cluster.successor())
        result.notes.append(f"{self.cluster.leader().name} is the primary")

    def crash(self, result: Result) -> None:
        """Kill the node of the primary, and start it again after the failover."""
        old = self.cluster.leader()
        before = self.cluster.timeline(old)
        old.kill()
        self._note_new_primary(result, old.name, before)
        old.start()

    def crash_and_return(self, result: Result) -> None:
        """Kill the node of the primary; its PostgreSQL returns before its Patroni."""
        old = self.cluster.leader()
        before = self.cluster.timeline(old)
        old.kill()
        self._note_new_primary(result, old.name, before)
        self.load.wait_for_more(WARM, BOUND_S)
        old.start_alone()
        self._watch_old_primary(result, old, ALONE_S)
        old.stop_alone()
        old.start()

    def partition(self, result: Result) -> None:
        """Freeze the node of the primary. It returns while its Patroni still hangs."""
        old = self.cluster.leader()
        before = self.cluster.timeline(old)
        patroni = family(old.patroni.pid) if old.patroni else []
        signal_all(old.processes(), signal.SIGSTOP)
        self._note_new_primary(result, old.name, before)
        self.load.wait_for_more(WARM, BOUND_S)
        signal_all(old.server(), signal.SIGCONT)
        self._watch_old_primary(result, old, HANGS_S)
        signal_all(patroni, signal.SIGCONT)

    def _watch_old_primary(self, result: Result, old: Node, seconds: float) -> None:
        """Count what a returned old primary, which still accepts writes, gets from the server."""
        try:
            with old.connect(ROLE) as connection:
                time.sleep(AT_ONCE_S)  # statements that were under way when it froze
                before = connection.execute(EVENTS).fetchone()
                time.sleep(seconds)
                after = connection.execute(EVENTS).fetchone()
                row = connection.execute(SESSIONS).fetchone()
        except psycopg.Error as problem:
            result.notes.append(f"the old primary ended by itself: {problem}".strip())
            return
        written, sessions = (after or (0,))[0] - (before or (0,))[0], (row or (0,))[0]
        result.notes.append(
            f"{old.name} returned and took writes for {AT_ONCE_S + seconds:.0f} s:"
            f" {written} events were written to it, {sessions} sessions of the server are left"
        )
        if written:
            result.broken.append("BROKEN: the server wrote to the old primary")

    def restart_etcd(self, result: Result) -> None:
        """Stop etcd for longer than the lock of the primary lasts."""
        leader = self.cluster.leader().name
        self.cluster.stop_etcd()
        time.sleep(NO_ETCD_S)
        self.cluster.start_etcd()
        now = self.cluster.leader().name
        result.notes.append(
            f"etcd was away for {NO_ETCD_S:.0f} s: {leader}, then {now} is the primary"
        )

    def _note_new_primary(self, result: Result, old: str, before: int) -> None:
        def is_new() -> bool:
            found = self.cluster.primary()
            return found is not None and found.name != old

        took = wait_for("new primary", is_new, BOUND_S)
        new = self.cluster.leader()
        result.notes.append(
            f"{new.name} is the primary after {took:.0f} s:"
            f" timeline {before}, then {self.cluster.timeline(new)}"
        )


def main() -> int:
    """Run the chosen faults."""
    options = _options()
    if options.ci and (missing := missing_program()):
        print(f"LEFT OUT the failover of PostgreSQL: {missing}")
        return 0
    return run(lambda: _drill(options))


def _drill(options: argparse.Namespace) -> int:
    check_programs()
    began = time.monotonic()
    mode = "asynchronous" if options.asynchronous else "synchronous"
    nodes = 2 if options.quick else 3
    print(f"{nodes} PostgreSQL nodes, {mode} replication\n{HEAD}", flush=True)
    broken = 0
    with _stage(options, nodes) as drill:
        for name in options.faults:
            result = drill.measure(*_fault(drill, name))
            broken += len(result.broken)
            print(result, flush=True)
        broken += _print_unexpected(drill.load)
    print(f"{time.monotonic() - began:.0f} s")
    return broken


FAULTS: Final = {
    "switchover": ("planned switchover", SWITCHOVER_S, Drill.switch_over),
    "crash": ("kill -9 of the primary's node", FAILOVER_S, Drill.crash),
    "return": ("kill -9, back without Patroni", FAILOVER_S, Drill.crash_and_return),
    "partition": ("primary's node frozen, back later", FAILOVER_S, Drill.partition),
    "etcd": ("etcd away for longer than ttl", SWITCHOVER_S, Drill.restart_etcd),
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.drills.failover", description=__doc__)
    parser.add_argument("--asynchronous", action="store_true", help="commits wait for no standby")
    parser.add_argument("--quick", action="store_true", help="two nodes, a switchover and a crash")
    parser.add_argument("--ci", action="store_true", help="as a step of .ci/run; implies --quick")
    parser.add_argument("--only", default="", help=f"of {','.join(FAULTS)}")
    parser.add_argument("--ports", type=int, help="the first of 50 ports; default: free ones")
    parser.add_argument("--patroni", default=str(TOOLS / "packages"), help=PATRONI)
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    options = parser.parse_args()
    options.quick = options.quick or options.ci
    whole = [name for name in FAULTS if name != "return"]
    chosen = ["switchover", "return"] if options.quick else whole
    options.faults = [name for name in options.only.split(",") if name] or chosen
    if unknown := set(options.faults) - set(FAULTS):
        parser.error(f"unknown fault: {', '.join(sorted(unknown))}")
    return options


@contextmanager
def _stage(options: argparse.Namespace, nodes: int) -> Iterator[Drill]:
    """Start everything; at the end, also after Ctrl-C, end all processes and remove the folder."""
    ports = Ports(options.ports) if options.ports else Ports.free()
    ports.check()
    with ExitStack() as ends:
        folder = ends.enter_context(work_folder(keep=options.keep))
        programs = Programs(folder)
        ends.callback(programs.stop)
        cluster = Cluster(folder, ports, nodes, not options.asynchronous, programs, options.patroni)
        ends.callback(cluster.stop)
        cluster.start()
        fleet = _fleet(cluster, programs)
        load = Load(fleet.urls)
        ends.callback(load.stop)
        yield Drill(cluster, fleet, load, options.quick, options.ci)


def _fleet(cluster: Cluster, programs: Programs) -> Fleet:
    hosts = cluster.several_hosts
    ways = {
        HOSTS: {"DATABASE_URL": hosts},
        POOLED: {
            "DATABASE_URL": cluster.pooled, "OJS_DIRECT_DATABASE_URL": hosts, "OJS_POOLER": "true",
        },
    }  # fmt: skip
    fleet = Fleet(cluster.folder, programs, ways)
    fleet.manage(HOSTS, "migrate", "--verbosity", "0")
    fleet.launch_http(POOLED, cluster.ports.http(0))
    fleet.launch_http(HOSTS, cluster.ports.http(1))
    for name, way in (("a", HOSTS), ("b", POOLED)):
        fleet.begin_loops(name, way)
        fleet.begin_worker(name, way)
    fleet.begin_remote_worker("c", HOSTS)
    for way in ways:
        fleet.wait_until_ready(way)
    return fleet


def _fault(drill: Drill, name: str) -> tuple[str, float, Callable[[Result], None]]:
    text, bar_s, hurt = FAULTS[name]
    return text, bar_s, lambda result: hurt(drill, result)


def _print_unexpected(load: Load) -> int:
    for text in sorted(set(load.unexpected)):
        print(f"    BROKEN: an answer without Retry-After: {text}")
    return len(set(load.unexpected))


if __name__ == "__main__":
    sys.exit(main())
