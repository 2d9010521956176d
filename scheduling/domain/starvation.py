"""When a queue starves: it has jobs, and none of them starts. Spec: fair-scheduling 8, 11.1."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduling.domain.pool import Pool


@dataclass(frozen=True, slots=True)
class Watched:
    """A queue, the pool that is to serve it, and how long it may wait for that."""

    queue: str
    pool: str
    rotation_ms: int


@dataclass(frozen=True, slots=True)
class Wait:
    """A queue that has jobs: since when it was seen so, its last start, and what was told."""

    since: datetime
    last_at: datetime | None = None
    told_at: datetime | None = None

    @property
    def began_at(self) -> datetime:
        """Since when it has jobs and none started."""
        return self.since if self.last_at is None else max(self.since, self.last_at)

    @property
    def is_told(self) -> bool:
        """It was told that it starves, and none has started since."""
        return self.told_at is not None and self.told_at >= self.began_at

    def lasts_ms(self, now: datetime) -> int:
        """Return how long it has waited."""
        return max(0, (now - self.began_at) // timedelta(milliseconds=1))


def watched(pools: Iterable[Pool]) -> dict[str, Watched]:
    """Return what is watched, by queue.

    A queue that several pools serve starves when none does, for as long as the most impatient of
    them allows; the first by name of those. A queue that isolated pools keep is theirs alone.
    """
    listed = sorted(
        pools, key=lambda pool: (not pool.isolated, pool.prevention.rotation_ms, pool.name)
    )
    found: dict[str, Watched] = {}
    for pool in listed:
        for queue in pool.queues:
            found.setdefault(queue, Watched(queue, pool.name, pool.prevention.rotation_ms))
    return found
