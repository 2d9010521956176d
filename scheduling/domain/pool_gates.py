"""Gates that pools set for a waiting job: data with a message for operators.

Spec: contract 20.5, steps 4 to 7; fair-scheduling 6 to 8.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jobs.domain.dispatch.claim import Strategy
from jobs.domain.dispatch.gates import Gate, GateState, Numbers
from jobs.domain.lanes.rotations import Ahead
from scheduling.domain.pool import Pool

NAMED: Final = 5  # pools or queues that a message names


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """Workers that may get a job: workers of a pool, or (None) workers that no pool governs.

    `asking` counts live, running workers, except workers that declared other queues.
    """

    pool: str | None
    cap: int | None
    active: int
    asking: int

    @property
    def is_full(self) -> bool:
        """Whether the pool has reached its cap on active jobs."""
        return self.cap is not None and self.active >= self.cap


def pool_gates(
    queue: str, groups: Sequence[WorkerGroup], owners: Sequence[str], *, shows: bool
) -> list[Gate]:
    """Return the gates of a queue from all groups of workers.

    `owners` are isolated pools that have the queue to themselves. `shows` false leaves numbers out.
    """
    pools = [group for group in groups if group.pool is not None]
    found = []
    if owners:
        found.append(_isolation(queue, owners, pools, shows=shows))
    elif not any(group.asking for group in groups):
        found.append(_unserved(queue, pools))
    return [*found, *(_pool(queue, group, groups, shows=shows) for group in pools)]


def _isolation(
    queue: str, owners: Sequence[str], groups: Sequence[WorkerGroup], *, shows: bool
) -> Gate:
    asking = sum(group.asking for group in groups)
    which = f"isolated pool {owners[0]}" if len(owners) == 1 else f"isolated pools {_names(owners)}"
    message = f"Queue {queue} is closed to all workers outside of {which}"
    state = GateState.OPEN if asking else GateState.CLOSED
    if not asking:
        message += ", and none of them is live."
    else:
        message += (
            f"; {asking} of them run{'s' * (asking == 1)}." if shows else "; some of them run."
        )
    numbers = {"pools": len(owners), "workers": asking} if shows else {}
    return Gate("isolation", state, message, numbers=numbers, is_enforced=asking > 0)


def _unserved(queue: str, pools: Sequence[WorkerGroup]) -> Gate:
    named = [str(group.pool) for group in pools]
    which = f"pool {named[0]}" if len(named) == 1 else f"pools {_names(named)}"
    message = f"No live worker may take jobs of queue {queue}: "
    message += (
        f"{which} and workers outside of all pools may."
        if named
        else ("no pool has the queue, and no worker outside of all pools fetches it.")
    )
    return Gate("pools", GateState.CLOSED, message, is_enforced=False)


def _pool(queue: str, group: WorkerGroup, groups: Sequence[WorkerGroup], *, shows: bool) -> Gate:
    """Return the gate of one pool: closed if it is full and no other live worker takes the job."""
    numbers = {"active": group.active, "workers": group.asking}
    if group.cap is not None:
        numbers["concurrency"] = group.cap
    return Gate(
        "pool",
        _state(group, groups),
        f"Pool {group.pool} {_fullness(group, groups, shows=shows)}",
        name=group.pool,
        numbers=numbers if shows else {},
        # a worker of another group may still ask for the job, even if none is registered now
        is_enforced=not group.is_full or all(other.is_full for other in groups),
    )


def _state(group: WorkerGroup, groups: Sequence[WorkerGroup]) -> GateState:
    if not group.is_full:
        return GateState.OPEN
    others = any(other.asking for other in groups if not other.is_full)
    return GateState.UNKNOWN if others else GateState.CLOSED


def _fullness(group: WorkerGroup, groups: Sequence[WorkerGroup], *, shows: bool) -> str:
    if not group.is_full:
        number = "" if not shows else f", {group.active} of {group.cap} run" if group.cap else ""
        crew = "" if group.asking else "; none of its live workers fetches the queue"
        return f"may take its jobs{number}{crew}."
    used = f": {group.active} of its jobs run, {group.cap} may" if shows else ""
    if _state(group, groups) is GateState.UNKNOWN:
        return f"is full{used}. Other workers may take the job."
    return f"is full{used}; there is room when one of them ends."


def rotation_gate(queue: str, pool: Pool, ahead: Ahead, *, shows: bool) -> Gate:
    """Return the gate of a queue's position in the rotation; never closed, since its turn comes."""
    rotation = f"In the {_strategy(pool.strategy)} turns of pool {pool.name} queue {queue}"
    if not shows:
        return Gate("turns", GateState.OPEN, f"{rotation} has its place.", name=pool.name)
    at = ahead.queues.index(queue)
    return Gate(
        "turns",
        GateState.OPEN,
        f"{rotation} {_place(queue, ahead)}.{_share_in_words(pool, queue)}{_owed(pool, ahead, at)}",
        name=pool.name,
        numbers=_numbers(queue, pool, ahead),
    )


def _strategy(strategy: Strategy) -> str:
    return strategy.name.lower().replace("_", "-")


def _place(queue: str, ahead: Ahead) -> str:
    if not ahead.is_open[ahead.queues.index(queue)]:
        return "is skipped: it has no job that may start"
    place = ahead.place_of(queue)
    if place == 0:
        return "is next"
    before = [ahead.queues[n] for n in ahead.order[:place]]
    if place is None:
        return f"comes after {_counted(before)}, and after further turns"
    return f"comes after {_counted(before)}"


def _counted(queues: Sequence[str]) -> str:
    """Name queues in the order of their first turns, with the number of their turns."""
    counts = Counter(queues)
    named = [name if n == 1 else f"{name} ({n} times)" for name, n in counts.items()]
    return _names(named)


def _names(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def share(pool: Pool, queue: str) -> float | None:
    """Return the part of the turns that a queue is entitled to while all queues have jobs.

    None: the part depends on the waiting jobs (least-loaded), or on the queues before it (strict).
    """
    if pool.strategy is Strategy.WEIGHTED:
        return pool.weights[pool.queues.index(queue)] / sum(pool.weights)
    return 1 / len(pool.queues) if pool.strategy is Strategy.ROUND_ROBIN else None


def _share_in_words(pool: Pool, queue: str) -> str:
    part = share(pool, queue)
    if part is None or len(pool.queues) == 1:
        return ""
    weight = ""
    if pool.strategy is Strategy.WEIGHTED:
        weight = f", weight {pool.weights[pool.queues.index(queue)]} of {sum(pool.weights)}"
    return f" Its share while all have jobs is {100 * part:.3g} %{weight}."


def _owed(pool: Pool, ahead: Ahead, at: int) -> str:
    if not ahead.is_owed[at]:
        return ""
    return f" It is owed a turn by starvation prevention: {ahead.waits[at]} of others have passed."


def _numbers(queue: str, pool: Pool, ahead: Ahead) -> Numbers:
    at = ahead.queues.index(queue)
    place, part = ahead.place_of(queue), share(pool, queue)
    found: dict[str, Any] = {
        "place": place,  # turns of other queues before its own
        "waited_turns": ahead.waits[at] if ahead.is_open[at] else None,
        "owed": int(ahead.is_owed[at]),
        "share": None if part is None else round(part, 6),
        "min_ratio": pool.prevention.min_ratio if pool.prevention.enabled else None,
    }
    if pool.strategy is Strategy.WEIGHTED:
        found["weight"] = pool.weights[pool.queues.index(queue)]
    return {name: number for name, number in found.items() if number is not None}


def entitled(pool: Pool) -> Iterator[float | None]:
    """Yield the shares of all queues of a pool, in their order."""
    for queue in pool.queues:
        yield share(pool, queue)
