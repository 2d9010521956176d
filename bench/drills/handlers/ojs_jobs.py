"""The handler of a drill, by names that both releases have."""

import os
import time
from pathlib import Path

from bench.names import NOTED, NOTES
from jobs.handlers import job


@job(NOTED)
def noted(job_id: str, seconds: float, failures: int = 0) -> None:
    """Run for the given seconds, then add the job to the notes of this worker.

    The first `failures` attempts, of all workers that share a folder, raise OSError instead.
    """
    time.sleep(seconds)
    path = Path(os.environ.get(NOTES, os.devnull))
    if failures and _failed(path.with_name("failed"), job_id) < failures:
        raise OSError("the drill lets this attempt fail")
    with path.open("a") as notes:
        notes.write(f"{job_id}\n")


def _failed(path: Path, job_id: str) -> int:
    """Return the number of former failures of a job, and note one more."""
    with path.open("a+") as notes:
        notes.seek(0)
        found = notes.read().split().count(job_id)
        notes.write(f"{job_id}\n")
    return found
