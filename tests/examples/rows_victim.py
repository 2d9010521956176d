"""Run the migration of rows; its workers die by SIGKILL after some pages, before the record.

`python -m tests.examples.rows_victim DATABASE` prints a line of JSON about the job.
"""

import json
import os
import signal
import sys
from typing import Any

import django

from tests.crash.steps_victim import _forked

DEATHS, PAGES = 4, 2  # each worker dies at its second page
SIZE = 100


def main(path: str) -> None:
    """Enqueue the job, let its workers die, then let one finish."""
    django.setup()
    from django.db import connections  # noqa: PLC0415

    from examples import rows  # noqa: PLC0415
    from jobs.models import Lease  # noqa: PLC0415
    from jobs.queries import ago  # noqa: PLC0415
    from jobs.services.outcome.reap import reap  # noqa: PLC0415
    from ojs_tasks import get  # noqa: PLC0415
    from ojs_tasks.testing import make_due  # noqa: PLC0415

    job_id = rows.migrate.enqueue(path, SIZE).id
    signals = []
    for dies in [True] * DEATHS + [False]:
        connections.close_all()
        status = _forked(lambda dies=dies: _work(rows, dies=dies))  # type: ignore[misc]
        signals.append(os.WTERMSIG(status))
        Lease.objects.update(lease_until=ago(1000))
        reap()
        make_due()
    found = get(job_id)
    facts = {"state": found.state, "result": found.snapshot.result, "signals": signals}
    sys.stdout.write(f"{json.dumps(facts)}\n")


def _work(rows: Any, *, dies: bool) -> None:
    from jobs.worker import foreground  # noqa: PLC0415

    copy, copied = rows.copy, []

    def dying(path: str, after: int, until: int) -> int:
        found: int = copy(path, after, until)
        copied.append(after)
        if dies and len(copied) == PAGES:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    rows.copy = dying
    if (job := foreground.claim(["examples"])) is not None:
        foreground.run(job)


if __name__ == "__main__":
    main(sys.argv[1])
