"""A process that runs loops in children of its own, which die where they are told to.

Line by line on standard input: names of loops, and at which step the child kills itself, if at all.
A step is a statement or a commit: what is killed before every one of them is killed in every state
that another process can find. Answers with the child's id, then with how it ended. Django is loaded
once and no connection is open in the parent, so that a child costs no more than a fork.
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

NAME = "ojs-victim"  # of its sessions, for whoever waits until they are over


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the loops log is no answer
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
    """Run the loops as a leader does, until they find nothing and no attempt is under way.

    A loop that is named twice does so twice, since some act on what they found before.
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
    """Kill this process right before its step of that number."""
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
    )
    for owner, method in steps:
        setattr(owner, method, dying(getattr(owner, method)))


if __name__ == "__main__":
    main()
