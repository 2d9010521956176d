"""Run a drill: its folder, its end also after Ctrl-C, and its exit status."""

import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from bench.drills.programs import DrillError
from ojs_project.folder import FolderError

INTERRUPTED: Final = 130  # exit status after Ctrl-C
ENDED: Final = 2  # the drill could not go on
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(drill: Callable[[], int]) -> int:
    """Run a drill, which returns the number of missed bars; return the exit status.

    The first signal raises KeyboardInterrupt in the drill, so that it ends the processes that it
    started. Further signals do not disturb that.
    """
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    try:
        missed = drill()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except (DrillError, FolderError) as problem:
        print(f"the drill ended: {problem}", file=sys.stderr)
        return ENDED
    print(f"{missed} bars were missed")
    return bool(missed)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


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
