"""Starvation: a queue has jobs and none of them starts. Spec: fair-scheduling 8, 11.1."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduling.domain.pool import Pool


@dataclass(frozen=True, slots=True)
class Watched:
    """A queue, the pool that is to serve it, and how long it may wait."""

    queue: str
    pool: str
    rotation_ms: int


@dataclass(frozen=True, slots=True)
class Wait:
    """A queue that has jobs: since when, its last start, and the last event about it."""

    since: datetime
    last_at: datetime | None = None
    told_at: datetime | None = None

    @property
    def began_at(self) -> datetime:
        """Start of the episode: since then the queue has jobs and none started."""
        return self.since if self.last_at is None else max(self.since, self.last_at)

    @property
    def is_reported(self) -> bool:
        """Whether an event was emitted in this episode."""
        return self.told_at is not None and self.told_at >= self.began_at

    def lasts_ms(self, now: datetime) -> int:
        """Return how long it has waited, in ms."""
        return max(0, (now - self.began_at) // timedelta(milliseconds=1))


def watched(pools: Iterable[Pool]) -> dict[str, Watched]:
    """Return the watched queues and the pool that decides how long each may wait.

    A queue of several pools starves if none of them serves it. The pool with the shortest rotation
    interval decides, the first by name among equal pools. If isolated pools have the queue, only
    they count.
    """
    listed = sorted(
        pools, key=lambda pool: (not pool.isolated, pool.prevention.rotation_ms, pool.name)
    )
    found: dict[str, Watched] = {}
    for pool in listed:
        for queue in pool.queues:
            found.setdefault(queue, Watched(queue, pool.name, pool.prevention.rotation_ms))
    return found
