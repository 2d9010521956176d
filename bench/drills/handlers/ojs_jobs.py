"""The handler of a drill, by names that both releases have."""

import os
import time
from pathlib import Path

from bench.names import NOTED, NOTES
from jobs.handlers import job


@job(NOTED)
def noted(job_id: str, seconds: float) -> None:
    """Run for the given seconds, then add the job to the notes of this worker."""
    time.sleep(seconds)
    with Path(os.environ.get(NOTES, os.devnull)).open("a") as notes:
        notes.write(f"{job_id}\n")
