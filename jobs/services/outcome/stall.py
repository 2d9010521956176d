"""Notice running jobs whose progress stopped. Spec: contract 29."""

from jobs import queries

QUIET_MS = 300_000


def stall(batch: int = 1000) -> int:
    """Note one batch of reports that got old, with an event where the job still runs.

    Returns how many reports were looked at; each is looked at once.
    """
    looked_at, _ = queries.stall(QUIET_MS, batch)
    return looked_at
