"""Repair what no other code should ever leave behind; the number found is an alarm."""

import logging

from jobs import queries

logger = logging.getLogger("ojs.heal")


def heal() -> int:
    """Offer lanes that hold jobs but are not offered; returns how many (0 is healthy)."""
    healed = queries.heal()
    if healed:
        logger.error("lanes.healed", extra={"count": healed})
    return healed
