"""Remember the low-water marks of live index entries, from the latest claims of this process.

A held snapshot keeps dead entries at the heads of the lane and ready indexes, and every claim reads
them again. A low-water mark skips them. A mark may hide a row that was written late or came back.
So once a second one claim of the process goes without marks and reads all dead entries. See
docs/adr/0003-low-water-hints.md.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from types import MappingProxyType

from jobs.queries import Hints

FRESH_S = 1.0
CHOICES = 64  # sets of version keys that are remembered
LANES = 16  # remembered per queue; with many lanes each has few dead entries
NONE: Mapping[str, tuple[int, float]] = MappingProxyType({})


def starting_marks(queues: Sequence[str], hints: Hints) -> Mapping[str, tuple[int, float]]:
    """Return the rank and virtual time at which a claim started, for queues with a mark."""
    if hints.ranks is None or hints.vts is None:
        return NONE
    bounds = zip(queues, hints.ranks, hints.vts, strict=True)
    return {queue: (rank, vt) for queue, rank, vt in bounds if rank is not None and vt is not None}


@dataclass(slots=True)
class _Low:
    rank: int
    vt: float
    looked_at: float
    config_version: int | None
    lanes: OrderedDict[int, int] = field(default_factory=OrderedDict)


class LowWater:
    """The low-water marks of queues. Thread-safe enough: a lost update only costs a longer read."""

    def __init__(self) -> None:
        """Start without any mark."""
        self._by_queue: dict[str, _Low] = {}

    def bounds(self, queues: Sequence[str], config_version: int | None = None) -> Hints:
        """Return the marks for a claim on `queues`; none for queues that are due for a full read.

        Marks of another configuration version are dropped: their virtual times may be of another
        kind.
        """
        now = monotonic()
        ranks: list[int | None] = []
        vts: list[float | None] = []
        lanes: dict[int, int] = {}
        for queue in queues:
            low = self._by_queue.get(queue)
            if low is None or low.config_version != config_version:
                self._by_queue.pop(queue, None)
                ranks.append(None)
                vts.append(None)
            elif now - low.looked_at >= FRESH_S:
                low.looked_at = now  # claims of other threads keep the marks meanwhile
                ranks.append(None)
                vts.append(None)
            else:
                ranks.append(low.rank)
                vts.append(low.vt)
                lanes.update(low.lanes)
        if not any(rank is not None for rank in ranks):
            return Hints()
        return Hints(ranks, vts, list(lanes), list(lanes.values()))

    def learn(
        self,
        heads: Sequence[tuple[str, int, int, int, float]],
        config_version: int | None = None,
        started_from: Mapping[str, tuple[int, float]] = NONE,
    ) -> None:
        """Remember the heads that a claim found; `started_from` are its marks.

        A claim without a mark sets all values anew. A hinted claim never overwrites the result of
        an unhinted claim that ended meanwhile.
        """
        for queue, (rank, vt, lanes) in _latest(heads).items():
            low = self._by_queue.get(queue)
            if low is None or low.config_version != config_version or queue not in started_from:
                low = self._by_queue[queue] = _Low(rank, vt, monotonic(), config_version)
            elif (low.rank, low.vt) < started_from[queue]:
                continue
            low.rank, low.vt = rank, vt
            for lane, seq in reversed(lanes.items()):
                low.lanes[lane] = max(seq, low.lanes.get(lane, 0))
                low.lanes.move_to_end(lane)
                if len(low.lanes) > LANES:
                    low.lanes.popitem(last=False)

    def clear(self) -> None:
        """Drop all marks."""
        self._by_queue.clear()


def _latest(
    heads: Sequence[tuple[str, int, int, int, float]],
) -> dict[str, tuple[int, float, dict[int, int]]]:
    """Return the last rank and virtual time of each queue, and its last LANES in reverse order."""
    found: dict[str, tuple[int, float, dict[int, int]]] = {}
    for queue, lane, seq, rank, vt in reversed(heads):
        mark = found.get(queue)
        if mark is None:
            found[queue] = rank, vt, {lane: seq}
        elif len(mark[2]) < LANES:
            mark[2].setdefault(lane, seq)
    return found


class LowWaterMarks:
    """The marks of claims that take any version key, and of each set of version keys."""

    def __init__(self) -> None:
        """Start without any mark."""
        self._whole = LowWater()
        self._narrowed: dict[tuple[int, ...], LowWater] = {}

    def of(self, routes: tuple[int, ...] | None) -> LowWater:
        """Return the marks of claims that take these version keys alone; None: any."""
        if routes is None:
            return self._whole
        found = self._narrowed.get(routes)
        if found is None:
            if len(self._narrowed) >= CHOICES:
                self._narrowed = {}
            found = self._narrowed[routes] = LowWater()
        return found

    def clear(self) -> None:
        """Drop all marks."""
        self._whole.clear()
        self._narrowed = {}
