"""Lateness of jobs that become due one after the other, among many that are not yet due.

Lateness is the time from a job's due time to the commit that makes it available, both by the
database's clock: the cluster stores the time of every commit.
"""

import time
from dataclasses import dataclass, field

from bench.database import Database
from bench.statements import script

WAITING = 1_000_000
PER_SECOND = 500
NTH = 10  # every tenth due time has a schedule, too
LEAD_S = 5  # from the first insert to the first due time
EXTRA_S = 30.0  # after the last due time, before the measurement ends
CLUSTER = {"track_commit_timestamp": "on"}


@dataclass(slots=True)
class Late:
    """Milliseconds for each due job: scheduled jobs and jobs of schedules."""

    waiting: int
    due: int
    ticking: int  # schedules
    jobs: list[float] = field(default_factory=list)
    ticks: list[float] = field(default_factory=list)


def measure(database: Database, waiting: int, seconds: int) -> Late:
    """Let the running loops promote jobs and fire schedules in real time."""
    while not database.number(_RUNNING):
        time.sleep(0.5)
    due = PER_SECOND * seconds
    facts = {"waiting": waiting, "due": due, "seconds": seconds, "lead": LEAD_S, "nth": NTH}
    filling = script("later", **facts)
    database.run(*filling.split(";"))
    ends = time.monotonic() + LEAD_S + seconds + EXTRA_S
    while database.number(_LEFT) and time.monotonic() < ends:
        time.sleep(1)
    time.sleep(1)  # the loop of the schedules has its own interval
    return Late(
        waiting, due, due // NTH, _all(database, "lateness"), _all(database, "cron_lateness")
    )


_RUNNING = "SELECT count(*) FROM ojs_loop WHERE name = 'promote'"
_LEFT = "SELECT count(*) FROM bench_due AS d JOIN ojs_later AS l ON l.id = d.id"


def _all(database: Database, name: str) -> list[float]:
    with database.connect() as connection:
        return [float(row[0]) for row in connection.execute(script(name).encode())]
