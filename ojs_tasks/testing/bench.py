"""Where the jobs of a test are: in its database, or in memory."""

from collections.abc import Sequence
from importlib import import_module
from typing import Final, Protocol

from ojs_tasks.exceptions import NoServer
from ojs_tasks.server import is_local
from ojs_tasks.testing.memory import active
from ojs_tasks.testing.records import Enqueued, Run

LOCAL: Final = "ojs_tasks.local.testing"  # has LocalBench()


class Bench(Protocol):
    """What the helpers of `ojs_tasks.testing` need."""

    def run_available(self, queues: Sequence[str], *, raises: bool, most: int) -> list[Run]:
        """Run available jobs, and return every attempt. Empty queues: those of the handlers."""

    def make_due(self) -> int:
        """Make scheduled and retryable jobs available; return how many there were."""

    def enqueued(self) -> list[Enqueued]:
        """Return all jobs, the oldest first."""


def bench() -> Bench:
    """Return the place of this test's jobs. Raises NoServer without one."""
    if (memory := active()) is not None:
        return memory
    if is_local():
        found: Bench = import_module(LOCAL).LocalBench()
        return found
    raise NoServer(
        "this test has no jobs in memory: use the fixture ojs_jobs, the class JobsMixin, or"
        " `with ojs_tasks.testing.in_memory():`"
    )
