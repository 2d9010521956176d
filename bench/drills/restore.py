"""python -m bench.drills.restore: restore PostgreSQL to a point in time, under load until then.

A base backup and the archive of the WAL are made while producers and a worker are busy. Then the
database is lost. PostgreSQL's own tools restore it to a moment before that. The drill prints what
is left of the jobs, and what producers and workers have to do. Returns 1 if a bar was missed. See
docs/operations.md, Backup and recovery.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, LiteralString

import httpx
import psycopg

from bench.drills.fleet import Fleet
from bench.drills.load import CONFLICT, Load, body_of, runs, twice
from bench.drills.programs import DrillError, Programs, as_account, owned, wait_for
from bench.drills.running import run, work_folder
from bench.stack import free_port
from ojs_project.folder import MARKER
from ojs_project.postgres import Cluster, bin_dir

WAY: Final = "direct"
SMALL: Final = {"shared_buffers": "64MB", "max_connections": "150"}
LOAD_S: Final = 8.0  # before the backup, after it, and after the point in time
BOUND_S: Final = 120.0
STORED = "SELECT id::text FROM ojs_job WHERE id = ANY (%s::uuid[])"
LIVE = "SELECT count(*)::int FROM ojs_job WHERE id = ANY (%s::uuid[]) AND state IS NULL"
IN_FLIGHT = "SELECT id::text FROM ojs_lease"
ARCHIVED = "SELECT count(*)::int FROM pg_stat_archiver WHERE last_archived_wal >= %s"


@dataclass
class Table:
    """The printed lines, and the number of missed bars."""

    missed: int = 0

    def line(self, what: str, found: object, *, is_good: bool = True) -> None:
        """Print a line."""
        self.missed += not is_good
        print(f"{what:62} {found!s:>14}{'' if is_good else '  MISSED'}", flush=True)


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
    moment, before, after = _use_and_lose(folder, archive, ends, table)
    begin = time.monotonic()
    restored = Cluster(_unpacked(folder), _recovery(archive, moment))
    ends.callback(restored.stop)
    restored.start()
    wait_for("end of the recovery", lambda: _is_open(restored), BOUND_S)
    table.line("seconds until the restored database accepted writes", _seconds(begin))
    _look_at_jobs(restored, before, after, table)
    _reconcile(folder, restored, table)
    with _serving(folder, restored) as fleet:
        table.line("seconds until the restored server was ready", _seconds(begin))
        _send_again(fleet, before | after, table)
        _wait_for_all(folder, restored, before | after, table)


def _use_and_lose(
    folder: Path, archive: Path, ends: ExitStack, table: Table
) -> tuple[str, set[str], set[str]]:
    """Return the point in time, and the jobs acknowledged before it and after it."""
    source = Cluster(folder / "source", _archiving(archive))
    ends.callback(source.stop)
    source.start()
    with _serving(folder, source) as fleet:
        load = Load(fleet.urls)
        try:
            time.sleep(LOAD_S)
            begin = time.monotonic()
            _back_up(source, folder / "backup")
            table.line("seconds of the base backup, under load", _seconds(begin))
            time.sleep(LOAD_S)
            before = load.end_window().ids
            moment = str(_rows(source, "SELECT clock_timestamp()")[0][0])
            time.sleep(LOAD_S)
            _archive_all(source)
        finally:
            load.stop()
        after = load.end_window().ids
        source.stop(immediately=True)  # and its disk is lost
    table.line("jobs acknowledged before the point in time", len(before))
    table.line("jobs acknowledged after it", len(after))
    return moment, before, after


def _look_at_jobs(restored: Cluster, before: set[str], after: set[str], table: Table) -> None:
    present = {row[0] for row in _rows(restored, STORED, list(before | after))}
    lost = before - present
    table.line("of the jobs before the point, missing (bar: 0)", len(lost), is_good=not lost)
    table.line("of the jobs after it, missing: producers send them again", len(after - present))
    in_flight = _rows(restored, IN_FLIGHT)
    table.line("in flight at the point: they run again", len(in_flight))


def _reconcile(folder: Path, restored: Cluster, table: Table) -> None:
    fleet = Fleet(folder, Programs(folder), {WAY: {"DATABASE_URL": restored.url}})
    said = fleet.manage(WAY, "ojs", "reconcile").splitlines()
    table.line("counts that `manage.py ojs reconcile` corrected", said[-1].split()[0])


def _send_again(fleet: Fleet, ids: set[str], table: Table) -> None:
    """Let producers send all jobs of their journal again, with the same ids."""
    known = 0
    with httpx.Client(base_url=fleet.urls[WAY], timeout=30) as client:
        for one in sorted(ids):
            answer = client.post("/ojs/v1/jobs", json=body_of(one))
            known += answer.status_code == CONFLICT
            if not (answer.is_success or answer.status_code == CONFLICT):
                raise DrillError(f"a repeated enqueue: {answer.status_code} {answer.text[:200]}")
    table.line("sent again with the same ids: accepted", len(ids) - known)
    table.line("sent again with the same ids: known already (409)", known)


def _wait_for_all(folder: Path, restored: Cluster, ids: set[str], table: Table) -> None:
    begin, wanted = time.monotonic(), list(ids)
    try:
        wait_for("end", lambda: _rows(restored, LIVE, wanted)[0][0] == 0, BOUND_S)
    except DrillError:
        table.line("jobs that did not end", _rows(restored, LIVE, wanted)[0][0], is_good=False)
    table.line("seconds until all jobs had ended, those in flight last", _seconds(begin))
    present = {row[0] for row in _rows(restored, STORED, wanted)}
    table.line("acknowledged jobs missing at the end (bar: 0)", len(ids - present),
               is_good=ids <= present)  # fmt: skip
    counts = runs(folder)
    never = sum(1 for one in ids if not counts[one])
    table.line("jobs that never ran (bar: 0)", never, is_good=never == 0)
    table.line("jobs that ran twice: handlers repeat safely", twice(counts, ids))


@contextmanager
def _serving(folder: Path, cluster: Cluster) -> Iterator[Fleet]:
    """Run an HTTP node, a loop node and a worker on a database."""
    programs = Programs(folder)
    fleet = Fleet(folder, programs, {WAY: {"DATABASE_URL": cluster.url}})
    try:
        fleet.manage(WAY, "migrate", "--verbosity", "0")
        fleet.begin_http(WAY, free_port())
        fleet.begin_loops("a", WAY)
        fleet.begin_worker(f"of-{cluster.folder.name}", WAY)
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
