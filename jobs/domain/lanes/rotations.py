"""Predictions of queue rotations. Spec: fair-scheduling 7, 8."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Crew:
    """The running workers of one pool; `asking`: the workers among them that fetch a queue."""

    pool: str | None
    running: int
    asking: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """The rotation that the queues of a plan would get if claims of it came now.

    By position of `queues`: whether a queue has a claimable job, whether starvation prevention owes
    it a turn, and for how many turns it has waited. `order`: the positions that are next if no more
    jobs come. A queue with a hundred jobs counts as having any number.
    """

    queues: tuple[str, ...]
    is_open: tuple[bool, ...]
    is_owed: tuple[bool, ...]
    waits: tuple[int, ...]
    order: tuple[int, ...]
    dispatched: int  # turns so far

    def place_of(self, queue: str) -> int | None:
        """Return after how many turns of other queues a queue is next; None: it is not in sight."""
        at = self.queues.index(queue)
        return self.order.index(at) if at in self.order else None
