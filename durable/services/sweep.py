"""Delete checkpoints and signals that their jobs left behind.

The end of a job deletes its checkpoint. A job that is removed from the dead letter, or that ended
while its first checkpoint was saved, leaves it behind.
"""

from typing import Final

from durable import queries

BATCH: Final = 1000
FIRST: Final = "00000000-0000-0000-0000-000000000000"


class Sweeper:
    """Looks at a batch of jobs at a time, and begins anew behind the last."""

    def __init__(self) -> None:
        """Begin with the first job."""
        self._after = FIRST

    def run_once(self) -> int:
        """Look at one batch; returns how many jobs left rows behind."""
        swept = queries.sweep(self._after, BATCH)
        self._after = FIRST if swept.looked < BATCH or swept.last is None else swept.last
        return swept.deleted
