"""Figures of started and claimable jobs. Spec: fair-scheduling 10.2, 11."""

from datetime import datetime
from typing import NamedTuple


class Started(NamedTuple):
    """Started jobs, and the sum of their waiting times."""

    jobs: int = 0
    wait_ms: int = 0


class OpenQueue(NamedTuple):
    """Whether a queue has a claimable job, and its last start as of the last aggregation."""

    is_open: bool
    last_at: datetime | None
    now: datetime
