"""Run a drill: its folder, its end also after Ctrl-C, and its exit status."""

import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.drills.programs import DrillError

INTERRUPTED: Final = 130  # exit status after Ctrl-C
ENDED: Final = 2  # the drill could not go on


def run(drill: Callable[[], int]) -> int:
    """Run a drill, which returns the number of missed bars; return the exit status.

    SIGTERM raises SystemExit in the drill, so that it ends the processes that it started.
    """
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))
    try:
        missed = drill()
    except KeyboardInterrupt:
        return INTERRUPTED
    except DrillError as problem:
        print(f"the drill ended: {problem}", file=sys.stderr)
        return ENDED
    print(f"{missed} bars were missed")
    return bool(missed)


@contextmanager
def work_folder(*, keep: bool) -> Iterator[Path]:
    """Return a new folder, which is removed at the end; `keep`: name it instead."""
    folder = Path(tempfile.mkdtemp(prefix="ojs-drill-"))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    try:
        yield folder
    finally:
        if keep:
            print(f"logs: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
