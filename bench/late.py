"""How late jobs become available that are due one after the other, among many that are not yet.

Late is what lies between the time a job was due and the commit that let it be claimed, both by the
database's clock: the cluster notes the time of every commit.
"""

import time
from dataclasses import dataclass, field

from bench.database import Database
from bench.statements import script

WAITING = 1_000_000
PER_SECOND = 500
NTH = 10  # of the jobs has a schedule beside it
LEAD_S = 5  # from storing the first to its time
EXTRA_S = 30.0  # beyond it nothing is waited for
CLUSTER = {"track_commit_timestamp": "on"}


@dataclass(slots=True)
class Late:
    """Milliseconds, one per job that was due: scheduled ones and those made by schedules."""

    waiting: int
    due: int
    ticking: int  # schedules
    jobs: list[float] = field(default_factory=list)
    ticks: list[float] = field(default_factory=list)


def measure(database: Database, waiting: int, seconds: int) -> Late:
    """Let the loops, which run already, promote and fire while time passes."""
    while not database.number(_RUNNING):
        time.sleep(0.5)
    due = PER_SECOND * seconds
    facts = {"waiting": waiting, "due": due, "seconds": seconds, "lead": LEAD_S, "nth": NTH}
    filling = script("later", **facts)
    database.run(*filling.split(";"))
    ends = time.monotonic() + LEAD_S + seconds + EXTRA_S
    while database.number(_LEFT) and time.monotonic() < ends:
        time.sleep(1)
    time.sleep(1)  # the schedules' loop has a time of its own
    return Late(
        waiting, due, due // NTH, _all(database, "lateness"), _all(database, "cron_lateness")
    )


_RUNNING = "SELECT count(*) FROM ojs_loop WHERE name = 'promote'"
_LEFT = "SELECT count(*) FROM bench_due AS d JOIN ojs_later AS l ON l.id = d.id"


def _all(database: Database, name: str) -> list[float]:
    with database.connect() as connection:
        return [float(row[0]) for row in connection.execute(script(name).encode())]
