"""`kill -9` of loops while they fire schedules: each occurrence fires exactly once."""

import os
import signal
import threading

import pytest

from jobs.domain.access.caller import Caller
from scheduling.models import CronEntry
from tests.crash.conftest import Run, Store
from tests.processes import until
from tests.scheduling.conftest import registered
from tests.spec import spec

pytestmark = [pytest.mark.usefixtures("store"), pytest.mark.xdist_group("crash")]

SCHEDULES, KILLS = 150, 5
TWICE = """
SELECT meta ->> 'cron_name', meta ->> 'cron_triggered_at', count(*) FROM ojs_job
 GROUP BY 1, 2 HAVING count(*) > 1
"""
# compares the counter of a schedule, its noted runs, its jobs, its history and its events
UNEQUAL = """
SELECT e.name, e.run_count, e.noted, j.jobs, r.runs, t.told
  FROM ojs_cron_entry AS e
  LEFT JOIN (SELECT meta ->> 'cron_name' AS name, count(*) AS jobs FROM ojs_job GROUP BY 1) AS j
         ON j.name = e.name
  LEFT JOIN (SELECT entry_id, count(*) AS runs FROM ojs_cron_run GROUP BY 1) AS r
         ON r.entry_id = e.id
  LEFT JOIN (SELECT data ->> 'cron_name' AS name, count(*) AS told FROM ojs_event
              WHERE kind = 40 GROUP BY 1) AS t ON t.name = e.name
 WHERE (e.run_count, e.run_count, e.run_count, e.run_count) IS DISTINCT FROM
       (e.noted, j.jobs, r.runs, t.told)
"""
FIRED = "SELECT coalesce(sum(run_count), 0)::int FROM ojs_cron_entry"
AWAKE = "SELECT count(*) FROM ojs_lane WHERE active"


@pytest.mark.long
@spec("contract 7.3")
def test_no_occurrence_is_lost_or_doubled_when_loops_are_killed(
    processes: Run, database_url: str
) -> None:
    for n in range(SCHEDULES):
        registered(
            f"n{n}", Caller("test"), expression="@every 1s",
            overlap_policy=("allow", "enqueue")[n % 2],
        )  # fmt: skip
    # all next runs are due at the same moment, so each kill meets a batch in progress
    first = CronEntry.objects.order_by("-due_at").values_list("due_at", flat=True)[0]
    CronEntry.objects.update(due_at=first, next_run_at=first)
    store = Store(database_url)

    def fired() -> int:
        number = store.rows(FIRED)[0][0]
        assert isinstance(number, int)
        return number

    loops = [processes(database_url, "manage.py", "runworker", "--no-handlers") for _ in range(2)]
    for kill in range(KILLS):
        before = fired()
        until(lambda before=before: fired() > before, "firing")  # type: ignore[misc]
        threading.Event().wait(0.003 * kill)  # somewhere within a batch or between two batches
        victim = loops.pop(0)
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait()
        loops.append(processes(database_url, "manage.py", "runworker", "--no-handlers"))
    reached = fired() + 2 * SCHEDULES
    until(lambda: fired() >= reached, "firing after the last kill")
    for loop in loops:
        loop.terminate()
        loop.wait()

    assert store.rows(TWICE) == []
    assert store.rows(UNEQUAL) == []
    assert store.misplaced() == []
    assert store.rows(AWAKE) == [(1,)]
