"""Run jobs of this cell until the standard input ends; print the id of each job that starts."""

import os
import sys
from threading import Thread

import django


def main() -> None:
    """Fetch and complete jobs."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
    django.setup()
    from jobs.domain.dispatch.claim import FetchRequest  # noqa: PLC0415 - after the setup
    from jobs.services.dispatch.fetch import fetch  # noqa: PLC0415
    from jobs.services.outcome.ack import Ack, ack  # noqa: PLC0415

    reader = Thread(target=sys.stdin.read, daemon=True)
    reader.start()
    sys.stdout.write("ready\n")
    while True:
        is_last = not reader.is_alive()
        claimed = fetch(FetchRequest(("default", "new-cell-only"), count=50)).jobs
        for job in claimed:
            sys.stdout.write(f"{job.id}\n")
        sys.stdout.flush()
        ack([Ack(job.id) for job in claimed])
        if is_last and not claimed:
            return
        if not claimed:
            reader.join(0.02)


if __name__ == "__main__":
    main()
