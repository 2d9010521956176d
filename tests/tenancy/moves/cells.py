"""The jobs of a tenant in two cells, and its move."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connections

from jobs.database import alias
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.job import Job
from jobs.domain.states import state_of
from jobs.models import Job as Row
from jobs.services.cells.other_cell import OtherCell
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.read.show import show_many
from tenancy.services.move import Moved, Wanted, run
from tests.factories import JobFactory

TENANT = "acme"
CALLER = Caller("operator")
DEAD = {"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}}


class Killed(BaseException):
    """The process of the move was killed."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The old cell, which is the test database, and the new cell."""

    other: OtherCell

    def move(self, **options: Any) -> Moved:
        """Move the tenant, or complete its move."""
        return run(self.wanted(**options))

    def wanted(self, **options: Any) -> Wanted:
        """Return the wanted move; it waits for nothing unless told to."""
        return Wanted(TENANT, self.other, CALLER, **{"wait_s": 0.0, **options})

    def states(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the states of all jobs by id: of the old cell, and of the new cell."""
        old = states()
        with self.other.inside():
            return old, states()

    @contextmanager
    def dying_at(self, number: int) -> Iterator[None]:
        """Kill the move at its statement `number`, in any cell: that transaction rolls back."""
        left = [number]

        def count(execute: Any, *arguments: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return execute(*arguments)

        with connections[alias()].execute_wrapper(count):
            with self.other.inside():
                here = connections[alias()]
            with here.execute_wrapper(count):
                yield


def acme(**members: Any) -> Job:
    """Store a job of the tenant."""
    return JobFactory.create(meta={"tenant_id": TENANT, **members.pop("meta", {})}, **members)


def states() -> dict[str, str]:
    """Return the states of all jobs of this cell by id."""
    ids = [str(one) for one in Row.objects.values_list("pk", flat=True)]
    return {job.id: state_of(job.state).value for job in show_many(ids)}


def run_all(queue: str = "default") -> list[str]:
    """Run all jobs of a queue; returns their ids in the order in which they were handed out."""
    found: list[str] = []
    while claimed := fetch(FetchRequest((queue,), count=10)).jobs:
        found += [job.id for job in claimed]
        ack([Ack(job.id) for job in claimed])
    return found
