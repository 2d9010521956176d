"""The parent of worker processes: it keeps them running, and passes the signals on."""

import sys
from collections.abc import Sequence
from functools import partial
from signal import SIGCHLD, SIGCONT, SIGINT, SIGTERM, SIGTSTP

from ojs_tasks.worker.pool import Pool
from ojs_tasks.worker.readiness import ReadyFile
from ojs_tasks.worker.signals import answer


def run_parent(
    arguments: Sequence[str], processes: int, *, once: bool, grace_s: float, ready_file: str | None
) -> int:
    """Keep `runworker --child` processes running until a signal ends them.

    `arguments` are those of a child. The ready file exists meanwhile, except while an operator or
    SIGTSTP quiets the worker. Returns the worst exit code.
    """
    command = [sys.executable, *program(), "runworker", "--child", *arguments]
    pool = Pool(command, processes, once=once, grace_s=grace_s)
    ready = ReadyFile(ready_file)

    def forward(number: int) -> None:
        ready.handle_signal(number)
        pool.forward_signal(number)

    forwarded = {n: partial(forward, n) for n in (SIGTERM, SIGINT, SIGTSTP, SIGCONT)}
    answer({SIGCHLD: pool.look_soon, **forwarded})
    ready.show()
    try:
        return pool.run()
    finally:
        ready.hide()


def program() -> list[str]:
    """Return the arguments of Python that run this program again."""
    spec = sys.modules["__main__"].__spec__
    return sys.argv[:1] if spec is None else ["-m", spec.parent or spec.name]
