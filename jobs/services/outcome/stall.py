"""Notice running jobs whose progress stopped. Spec: contract 29."""

from jobs import queries

QUIET_MS = 300_000


def stall(batch: int = 1000) -> int:
    """Mark one batch of old reports as stalled; an event is added where the job still runs.

    Returns how many reports were read; each is read once.
    """
    looked_at, _ = queries.stall(QUIET_MS, batch)
    return looked_at
