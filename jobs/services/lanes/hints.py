"""Where live index entries begin: what this process saw at its latest claims.

A held snapshot keeps dead entries at the heads of the lane and ready indexes, and every claim walks
over them; a lower bound steps past. A bound may hide a row that was written late or came back,
so once a second one claim goes without, and no other meanwhile: it walks over all that is dead.
See docs/adr/0003-low-water-hints.md.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from types import MappingProxyType

from jobs.queries import Hints

FRESH_S = 1.0
CHOICES = 64  # of routes that are remembered
LANES = 16  # remembered per queue; with many lanes each has few dead entries
NONE: Mapping[str, tuple[int, float]] = MappingProxyType({})


def above(queues: Sequence[str], hints: Hints) -> Mapping[str, tuple[int, float]]:
    """Return the rank and virtual time that a claim looked at first, of queues with a bound."""
    if hints.ranks is None or hints.vts is None:
        return NONE
    bounds = zip(queues, hints.ranks, hints.vts, strict=True)
    return {queue: (rank, vt) for queue, rank, vt in bounds if rank is not None and vt is not None}


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
            if low is None or low.terms != terms:
                self._by_queue.pop(queue, None)
                ranks.append(None)
                vts.append(None)
            elif now - low.looked_at >= FRESH_S:
                low.looked_at = now  # the others keep the bounds meanwhile
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
        terms: int | None = None,
        above: Mapping[str, tuple[int, float]] = NONE,
    ) -> None:
        """Remember the heads that a claim of these `terms` found, which went by the bounds `above`.

        One without a bound sets all anew. One with a bound says nothing of what a fuller look has
        found below it since.
        """
        for queue, (rank, vt, lanes) in _latest(heads).items():
            low = self._by_queue.get(queue)
            if low is None or low.terms != terms or queue not in above:
                low = self._by_queue[queue] = _Low(rank, vt, monotonic(), terms)
            elif (low.rank, low.vt) < above[queue]:
                continue
            low.rank, low.vt = rank, vt
            for lane, seq in reversed(lanes.items()):
                low.lanes[lane] = max(seq, low.lanes.get(lane, 0))
                low.lanes.move_to_end(lane)
                if len(low.lanes) > LANES:
                    low.lanes.popitem(last=False)

    def forget(self) -> None:
        """Drop all bounds."""
        self._by_queue.clear()


def _latest(
    heads: Sequence[tuple[str, int, int, int, float]],
) -> dict[str, tuple[int, float, dict[int, int]]]:
    """Return the last rank and virtual time of each queue, and its last LANES, the last first."""
    found: dict[str, tuple[int, float, dict[int, int]]] = {}
    for queue, lane, seq, rank, vt in reversed(heads):
        known = found.get(queue)
        if known is None:
            found[queue] = rank, vt, {lane: seq}
        elif len(known[2]) < LANES:
            known[2].setdefault(lane, seq)
    return found


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
