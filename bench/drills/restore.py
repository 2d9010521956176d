"""python -m bench.drills.restore: restore PostgreSQL to a point in time, under load until then.

A base backup and the archive of the WAL are made while producers and a worker are busy. Then the
database is lost. PostgreSQL's own tools restore it to a moment before that, at which jobs were
active, scheduled and retryable. The drill prints these jobs by state,
the state that each has after the restore, and the jobs that are lost or run twice, with the reason.
Returns 1 if a bar was missed. See docs/operations.md, Backup and recovery.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, LiteralString

import httpx
import psycopg

from bench.drills.fleet import Fleet
from bench.drills.load import CONFLICT, Load, mixed_body, once, runs, twice
from bench.drills.programs import DrillError, Programs, as_account, owned, wait_for
from bench.drills.running import run, work_folder
from bench.stack import free_port
from jobs.domain.states import CODES, State, state_of
from ojs_project.folder import MARKER
from ojs_project.postgres import Cluster, bin_dir

WAY: Final = "direct"
SMALL: Final = {"shared_buffers": "64MB", "max_connections": "150"}
WORKERS: Final = 2
LOAD_S: Final = 8.0  # before the backup, after it, and after the point in time
BOUND_S: Final = 120.0
MIXED: Final = (State.ACTIVE, State.SCHEDULED, State.RETRYABLE)  # at the point in time
IN_ORDER: Final = (*MIXED, State.AVAILABLE)
STORED = "SELECT id::text FROM ojs_job WHERE id = ANY (%s::uuid[])"
LIVE = "SELECT count(*)::int FROM ojs_job WHERE id = ANY (%s::uuid[]) AND state IS NULL"
# the state code of each live job
IN_FLIGHT = """
SELECT id::text, %(available)s FROM ojs_ready
UNION ALL SELECT id::text, %(active)s FROM ojs_lease
UNION ALL SELECT id::text, kind FROM ojs_later"""
NOW = "SELECT clock_timestamp()::text"
ARCHIVED = "SELECT count(*)::int FROM pg_stat_archiver WHERE last_archived_wal >= %s"


@dataclass
class Table:
    """The printed lines, and the number of missed bars."""

    missed: int = 0

    def line(self, what: str, found: object, *, is_good: bool = True) -> None:
        """Print a line."""
        self.missed += not is_good
        print(f"{what:68} {found!s:>8}{'' if is_good else '  MISSED'}", flush=True)


@dataclass(frozen=True, slots=True)
class Past:
    """What happened before the loss."""

    moment: str  # the point in time of the restore
    before: frozenset[str]  # jobs acknowledged before the point
    after: frozenset[str]  # and after it
    ran: frozenset[str]  # jobs whose handler had ended before the loss

    @property
    def all(self) -> list[str]:
        """All acknowledged jobs."""
        return sorted(self.before | self.after)


def main() -> int:
    """Back up, lose and restore a database."""
    parser = argparse.ArgumentParser(prog="python -m bench.drills.restore", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    options = parser.parse_args()
    return run(lambda: _drill(keep=options.keep))


def _drill(*, keep: bool) -> int:
    table = Table()
    with ExitStack() as ends:
        _run(ends.enter_context(work_folder(keep=keep)), ends, table)
    return table.missed


def _run(folder: Path, ends: ExitStack, table: Table) -> None:
    archive = owned(folder / "archive")
    past = _use_and_lose(folder, archive, ends, table)
    begin = time.monotonic()
    restored = Cluster(_unpacked(folder), _recovery(archive, past.moment))
    ends.callback(restored.stop)
    restored.start()
    wait_for("end of the recovery", lambda: _is_open(restored), BOUND_S)
    table.line("seconds until the restored database accepted writes", _seconds(begin))
    states, lost = _look_at_jobs(restored, past, table)
    _reconcile(folder, restored, states, table)
    with _serving(folder, restored) as fleet:
        table.line("seconds until the restored server was ready", _seconds(begin))
        _send_again(fleet, past.all, table)
        _wait_for_all(restored, past.all, table)
    _tell_runs(folder, past, states, lost, table)


def _use_and_lose(folder: Path, archive: Path, ends: ExitStack, table: Table) -> Past:
    """Run the server until its database is lost."""
    source = Cluster(folder / "source", _archiving(archive))
    ends.callback(source.stop)
    source.start()
    with _serving(folder, source) as fleet:
        load = Load(fleet.urls, body=mixed_body)
        try:
            time.sleep(LOAD_S)
            begin = time.monotonic()
            _back_up(source, folder / "backup")
            table.line("seconds of the base backup, under load", _seconds(begin))
            time.sleep(LOAD_S)
            wait_for("jobs in flight", lambda: set(MIXED) <= set(_states(source).values()), BOUND_S)
            before = load.end_window().ids
            moment = str(_rows(source, NOW)[0][0])
            time.sleep(LOAD_S)
            _archive_all(source)
        finally:
            load.stop()
        after = load.end_window().ids
        source.stop(immediately=True)  # and its disk is lost
    table.line("jobs acknowledged before the point in time", len(before))
    table.line("jobs acknowledged after it", len(after))
    return Past(moment, frozenset(before), frozenset(after), frozenset(runs(folder)))


def _look_at_jobs(restored: Cluster, past: Past, table: Table) -> tuple[dict[str, State], set[str]]:
    """Return the states of the live jobs, and the jobs that are lost."""
    lost = {*past.all} - {row[0] for row in _rows(restored, STORED, past.all)}
    early = lost & past.before
    table.line("of the jobs before the point, lost (bar: 0)", len(early), is_good=not early)
    table.line("of the jobs after it, lost: producers send them again", len(lost - early))
    states = _states(restored)
    for state in IN_ORDER:
        found = sum(1 for one in states.values() if one is state)
        is_good = bool(found) or state not in MIXED
        table.line(f"in flight at the point: {state.value}", found, is_good=is_good)
    return states, lost


def _reconcile(folder: Path, restored: Cluster, states: dict[str, State], table: Table) -> None:
    """Compare the counts with the jobs, and the printed numbers with the states seen."""
    fleet = Fleet(folder, Programs(folder), {WAY: {"DATABASE_URL": restored.url}})
    said = fleet.manage(WAY, "ojs", "reconcile").splitlines()
    table.line("`ojs reconcile`: counts that differed from the jobs", said[-1].split()[0])
    shown = json.loads(fleet.manage(WAY, "ojs", "stats", "--json"))
    found = Counter(state.value for state in states.values())
    same = all(shown[state.value] == found[state.value] for state in IN_ORDER)
    table.line("`ojs stats` then shows these jobs in flight", "yes" if same else shown,
               is_good=same)  # fmt: skip


def _send_again(fleet: Fleet, ids: list[str], table: Table) -> None:
    """Let producers send all jobs of their journal again, with the same ids."""
    known = 0
    with httpx.Client(base_url=fleet.urls[WAY], timeout=30) as client:
        for one in ids:
            answer = client.post("/ojs/v1/jobs", json=mixed_body(one))
            known += answer.status_code == CONFLICT
            if not (answer.is_success or answer.status_code == CONFLICT):
                raise DrillError(f"a repeated enqueue: {answer.status_code} {answer.text[:200]}")
    table.line("sent again with the same ids: accepted", len(ids) - known)
    table.line("sent again with the same ids: known already (409)", known)


def _wait_for_all(restored: Cluster, ids: list[str], table: Table) -> None:
    begin = time.monotonic()
    try:
        wait_for("end", lambda: _rows(restored, LIVE, ids)[0][0] == 0, BOUND_S)
    except DrillError:
        table.line("jobs that did not end", _rows(restored, LIVE, ids)[0][0], is_good=False)
    table.line("seconds until all jobs had ended", _seconds(begin))
    lost = {*ids} - {row[0] for row in _rows(restored, STORED, ids)}
    table.line("acknowledged jobs missing at the end (bar: 0)", len(lost), is_good=not lost)


def _tell_runs(
    folder: Path, past: Past, states: dict[str, State], lost: set[str], table: Table
) -> None:
    """Print how often jobs ran, and why some ran twice."""
    counts = runs(folder)
    never = sum(1 for one in past.all if not counts[one])
    table.line("jobs that never ran (bar: 0)", never, is_good=never == 0)
    for state in IN_ORDER:
        ids = {one for one, found in states.items() if found is state}
        about = f"{state.value} at the point"
        table.line(f"ran twice: {about}, ended before the loss", twice(counts, ids & past.ran))
        table.line(f"ran once: {about}, not ended before the loss", once(counts, ids - past.ran))
    table.line("ran twice: lost, ended before the loss, sent again", twice(counts, lost))
    others = twice(counts, {*past.all} - states.keys() - lost)
    table.line("jobs that ran twice for another reason (bar: 0)", others, is_good=others == 0)


@contextmanager
def _serving(folder: Path, cluster: Cluster) -> Iterator[Fleet]:
    """Run an HTTP node, a loop node and a worker on a database."""
    programs = Programs(folder)
    fleet = Fleet(folder, programs, {WAY: {"DATABASE_URL": cluster.url}})
    try:
        fleet.manage(WAY, "migrate", "--verbosity", "0")
        fleet.begin_http(WAY, free_port())
        fleet.begin_loops("a", WAY)
        for number in range(WORKERS):  # not all of them have a slow job
            fleet.begin_worker(f"of-{cluster.folder.name}-{number}", WAY)
        yield fleet
    finally:
        programs.stop()


def _archiving(archive: Path) -> dict[str, str]:
    return SMALL | {
        "fsync": "on", "archive_mode": "on",
        "archive_command": f"test ! -f {archive}/%f && cp %p {archive}/%f",
    }  # fmt: skip


def _recovery(archive: Path, moment: str) -> dict[str, str]:
    return SMALL | {
        "restore_command": f"cp {archive}/%f %p",
        "recovery_target_time": moment,
        "recovery_target_action": "promote",
    }


def _back_up(source: Cluster, target: Path) -> None:
    owned(target)
    command = [str(bin_dir() / "pg_basebackup"), "-h", str(source.sockets), "-U", "postgres"]
    done = subprocess.run(
        [*command, "-D", str(target), "--checkpoint=fast"],
        check=False, capture_output=True, text=True, cwd="/", **as_account(),
    )  # fmt: skip
    if done.returncode:
        raise DrillError(f"pg_basebackup: {done.stderr[-500:]}")


def _states(cluster: Cluster) -> dict[str, State]:
    """Return the states of all live jobs."""
    codes = {"available": CODES[State.AVAILABLE], "active": CODES[State.ACTIVE]}
    with psycopg.connect(cluster.url, connect_timeout=5) as connection:
        return {one: state_of(code) for one, code in connection.execute(IN_FLIGHT, codes)}


def _archive_all(source: Cluster) -> None:
    """End the present segment, as `archive_timeout` does, and wait until it is archived."""
    last = _rows(source, "SELECT pg_walfile_name(pg_switch_wal())")[0][0]
    wait_for("archived WAL", lambda: bool(_rows(source, ARCHIVED, last)[0][0]), BOUND_S)


def _unpacked(folder: Path) -> Path:
    """Put the base backup where a server starts; it recovers because of recovery.signal."""
    target = owned(folder / "restored")
    (folder / "backup").rename(target / "postgres")
    (target / MARKER).touch()
    signal_file = target / "postgres" / "recovery.signal"
    signal_file.touch()
    owner = target.stat()
    for path in (target / MARKER, signal_file):
        os.chown(path, owner.st_uid, owner.st_gid)
    return target


def _rows(cluster: Cluster, text: LiteralString, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(cluster.url, connect_timeout=5) as connection:
        return connection.execute(text, values or None).fetchall()


def _is_open(cluster: Cluster) -> bool:
    return not _rows(cluster, "SELECT pg_is_in_recovery()")[0][0]


def _seconds(begin: float) -> str:
    return f"{time.monotonic() - begin:.1f}"


if __name__ == "__main__":
    sys.exit(main())
