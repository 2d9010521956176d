"""Repair what no other code should ever leave behind; the number found is an alarm."""

import logging

from jobs import queries
from jobs.services.lanes import lanes

logger = logging.getLogger("ojs.heal")

_asleep: set[tuple[int, int]] = set()  # at the last look of this process


def heal() -> int:
    """Offer lanes whose jobs nobody would get; returns how many (0 is healthy).

    A lane is offered that was not at the look before, either, and has the same first job: those
    whose jobs came within a transaction are offered a moment after its commit
    (`lanes.defers_waking`), and that moment is no fault.
    """
    found = set(queries.asleep())
    stuck = found & _asleep
    _asleep.clear()
    _asleep.update(found)
    if stuck:
        lanes.wake([lane for lane, _ in stuck])
    if healed := len(stuck) + queries.unblock():
        logger.error("lanes.healed", extra={"count": healed})
    return healed
