"""The workload of a simulation: jobs with arrival and run time, and the workers that take them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from jobs.domain.dispatch.claim import LaneKey

MOST_JOBS: Final = 100_000
MOST_GROUPS: Final = 500
MOST_SLOTS: Final = 10_000
LONGEST_MS: Final = 7 * 86_400_000


class Arrival(NamedTuple):
    """A job: its arrival in ms from the beginning (negative before it) and its run time."""

    at_ms: int
    lane: LaneKey
    run_ms: int


@dataclass(frozen=True, slots=True)
class Workers:
    """Equal workers: `slots` jobs at once in total; no queues: the queues of their pool."""

    name: str
    slots: int
    queues: tuple[str, ...] = ()
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs in the order of their arrival, workers, and the end of the simulation."""

    arrivals: Sequence[Arrival]
    workers: tuple[Workers, ...]
    until_ms: int
    notes: tuple[str, ...] = field(default=())  # assumptions, and parts that were left out
