"""What claims of several queues would come to now. Spec: fair-scheduling 7, 8."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers that live, run and say they are in one pool; `asking`: that fetch a queue."""

    pool: str | None
    running: int
    asking: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """The turns that the queues of a plan would get if claims of it came now.

    By position of `queues`: whether a queue has a job to give, whether starvation prevention owes
    it a turn, and for how many turns it has waited. `order`: the positions that are next if no
    more jobs come; who has a hundred is thought to have any number.
    """

    queues: tuple[str, ...]
    is_open: tuple[bool, ...]
    is_owed: tuple[bool, ...]
    waits: tuple[int, ...]
    order: tuple[int, ...]
    dispatched: int  # turns so far

    def place_of(self, queue: str) -> int | None:
        """Tell after how many turns of others a queue has its own; None: none in sight."""
        at = self.queues.index(queue)
        return self.order.index(at) if at in self.order else None
