"""A process that runs loops in children, each of which can kill itself at a given step.

Each line of standard input is JSON: names of loops, and the step of the kill or null. A step is a
statement or a commit. A kill before every step produces every state that another process can find.
The answers are the child's id, then its exit code. Django is loaded once and the parent has no open
connection, so a child costs no more than a fork.
"""

import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import django
import psycopg

NAME = "ojs-victim"  # application name of its sessions, by which a test waits for their end


def main() -> None:
    """Serve requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # log lines of the loops go to stderr, away from the answers
    django.setup()
    import jobs.loops  # noqa: PLC0415 - needs the settings

    jobs.loops.all_loops()
    for line in sys.stdin:
        wanted = json.loads(line)
        if not (child := os.fork()):
            _live(wanted["loops"], wanted["dies_at"])
        print(child, file=answers, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _live(loops: Iterable[str], dies_at: int | None) -> None:
    try:
        _connect()
        if dies_at is not None:
            _arm(dies_at)
        _work(list(loops))
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def _connect() -> None:
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(f"SET application_name = '{NAME}'")


def _work(loops: list[str]) -> None:
    """Run the loops as a leader does, until they find no work and no attempt is in progress.

    A loop that is named twice runs twice, since some loops act on results of their run before.
    """
    from jobs.loops import run_once  # noqa: PLC0415
    from webhooks.extension import sender  # noqa: PLC0415

    for _ in range(max(Counter(loops).values())):
        run_once(loops)
    while sender._busy:
        while sender._done.empty():
            threading.Event().wait(0.002)
        run_once(loops)


def _arm(dies_at: int) -> None:
    """Kill this process right before the step of this number."""
    from jobs.fastpath.statements import Direct  # noqa: PLC0415 - needs the settings

    left = dies_at

    def dying(step: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments, **options)

        return run

    steps = (
        (psycopg.Cursor, "execute"),
        (psycopg.Cursor, "executemany"),
        (psycopg.Connection, "commit"),
        (Direct, "rows"),
    )
    for owner, method in steps:
        setattr(owner, method, dying(getattr(owner, method)))


if __name__ == "__main__":
    main()
