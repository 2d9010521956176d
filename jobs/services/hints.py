"""Where live index entries begin: what this process saw at its latest claims.

A held snapshot keeps dead entries at the heads of the lane and ready indexes, and every claim walks
over them; a lower bound steps past. A bound may hide a row that was written late or came back,
so once a second one claim goes without. See docs/adr/0003-low-water-hints.md.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from jobs.queries import Hints

FRESH_S = 1.0
CHOICES = 64  # of routes that are remembered
LANES = 16  # remembered per queue; with many lanes each has few dead entries


@dataclass(slots=True)
class _Low:
    rank: int
    vt: float
    looked_at: float
    terms: int | None
    lanes: OrderedDict[int, int] = field(default_factory=OrderedDict)


class LowWater:
    """Thread-safe enough: a lost update only costs a walk."""

    def __init__(self) -> None:
        """Start without any bound."""
        self._by_queue: dict[str, _Low] = {}

    def bounds(self, queues: Sequence[str], terms: int | None = None) -> Hints:
        """Return the bounds for a claim on `queues`, none for those due for a full look.

        Nor such that a claim of other `terms` left: the virtual times may be of another kind now.
        """
        now = monotonic()
        ranks: list[int | None] = []
        vts: list[float | None] = []
        lanes: dict[int, int] = {}
        for queue in queues:
            low = self._by_queue.get(queue)
            if low is None or now - low.looked_at >= FRESH_S or low.terms != terms:
                self._by_queue.pop(queue, None)
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
        self, heads: Sequence[tuple[str, int, int, int, float]], terms: int | None = None
    ) -> None:
        """Remember the heads that a claim of these `terms` found."""
        for queue, lane, seq, rank, vt in heads:
            low = self._by_queue.get(queue)
            if low is None or low.terms != terms:
                low = self._by_queue[queue] = _Low(rank, vt, monotonic(), terms)
            low.rank, low.vt = rank, vt
            low.lanes[lane] = max(seq, low.lanes.get(lane, 0))
            low.lanes.move_to_end(lane)
            if len(low.lanes) > LANES:
                low.lanes.popitem(last=False)

    def forget(self) -> None:
        """Drop all bounds."""
        self._by_queue.clear()


class Waters:
    """One LowWater for claims that take any route, one for each choice of routes."""

    def __init__(self) -> None:
        """Start without any bound."""
        self._whole = LowWater()
        self._narrowed: dict[tuple[int, ...], LowWater] = {}

    def of(self, routes: tuple[int, ...] | None) -> LowWater:
        """Return what claims that take these routes alone have seen; None: any."""
        if routes is None:
            return self._whole
        found = self._narrowed.get(routes)
        if found is None:
            if len(self._narrowed) >= CHOICES:
                self._narrowed = {}
            found = self._narrowed[routes] = LowWater()
        return found

    def forget(self) -> None:
        """Drop all bounds."""
        self._whole.forget()
        self._narrowed = {}
