"""Run a job of ten steps; processes of it die by SIGKILL at every commit.

`python -m tests.crash.steps_victim FOLDER` writes a line of JSON for each point of death. Each
process is forked, so that Django starts once.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import django

STEPS, COMMITS = 10, 11  # each step has a commit, and so has the ACK
TYPE = "crash.steps"


def main(folder: Path) -> None:
    """Write a line for a death before and after each commit."""
    django.setup()
    handler = _handler(folder)
    for commit in range(COMMITS):
        for is_before in (True, False):
            found = _died(folder, handler, commit, is_before=is_before)
            sys.stdout.write(f"{json.dumps(found)}\n")
            sys.stdout.flush()


def _handler(folder: Path) -> Any:
    from ojs_tasks import job, step  # noqa: PLC0415

    def effect(number: int) -> int:
        _write(folder / "effects", f"{number}\n")
        return number * number

    def work() -> list[int]:
        return [step(f"step-{n}", effect, n) for n in range(STEPS)]

    return job(TYPE, queue="crash", retry={"max_attempts": 3})(work)


def _died(folder: Path, handler: Any, commit: int, *, is_before: bool) -> dict[str, Any]:
    from django.db import connections  # noqa: PLC0415

    from jobs.models import Lease  # noqa: PLC0415
    from jobs.queries import ago  # noqa: PLC0415
    from jobs.services.outcome.reap import reap  # noqa: PLC0415
    from jobs.services.read.show import show  # noqa: PLC0415

    for name in ("effects", "saves"):
        (folder / name).write_text("")
    job_id = handler.enqueue().id
    connections.close_all()
    status = _forked(lambda: _run(folder, commit, is_before=is_before))
    Lease.objects.update(lease_until=ago(1000))
    reap()
    connections.close_all()
    if show(job_id).finished_at is None:
        connections.close_all()
        _forked(lambda: _run(folder, None, is_before=False))
    found = show(job_id)
    return {
        "commit": commit,
        "is_before": is_before,
        "signal": os.WTERMSIG(status),
        "state": found.state,
        "result": found.result and json.loads(found.result),
        "effects": [int(line) for line in (folder / "effects").read_text().split()],
        "saves": (folder / "saves").read_text().split(),
    }


def _forked(work: Callable[[], None]) -> int:
    """Run in a process of its own, and return its status."""
    pid = os.fork()
    if not pid:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1]


def _run(folder: Path, commit: int | None, *, is_before: bool) -> None:
    """Claim the job and run it, up to the death at this commit."""
    from jobs.worker import foreground  # noqa: PLC0415
    from jobs.worker.execution import EXECUTION  # noqa: PLC0415
    from jobs.worker.reports import Reports  # noqa: PLC0415
    from ojs_tasks.context import Context  # noqa: PLC0415

    passed = 0

    def around(store: Callable[[], None]) -> None:
        nonlocal passed
        if passed == commit and is_before:
            os.kill(os.getpid(), signal.SIGKILL)
        store()
        if passed == commit:
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    class Dying(Reports):
        """Dies at a save."""

        def save(self, context: Context, state: bytes, taken: Sequence[int]) -> None:
            """Save, and die before or after it."""

            def store() -> None:
                Reports.save(self, context, state, taken)
                _write(folder / "saves", f"{list(json.loads(state)['__steps'])[-1]}\n")

            around(store)

    job = foreground.claim(["crash"])
    if job is None:
        return
    outcome = EXECUTION.execute(Context(job, foreground.WORKER, reporter=Dying()))
    around(lambda: foreground._answer(outcome))


def _write(path: Path, text: str) -> None:
    """Append in one call of the system, which the death of the process cannot undo."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, text.encode())
    os.close(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
