"""Repair lanes that no correct code leaves behind; a number above 0 is an alarm."""

import logging

from jobs import queries
from jobs.services.lanes import lanes

logger = logging.getLogger("ojs.heal")

_asleep: set[tuple[int, int]] = set()  # at the last run in this process


def heal() -> int:
    """Offer lanes that have jobs and are not offered; returns how many (0 is healthy).

    A lane is offered only if the run before also found it, with the same first job. Lanes whose
    jobs came within a transaction are offered a moment after its commit (`lanes.defers_waking`),
    and that moment is no fault.
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
