"""What started, and what could start. Spec: fair-scheduling 10.2, 11."""

from datetime import datetime
from typing import NamedTuple


class Started(NamedTuple):
    """Jobs that started, and how long they had waited together."""

    jobs: int = 0
    wait_ms: int = 0


class OpenQueue(NamedTuple):
    """Whether a queue has a job to hand out, and when one started last, as of the last fold."""

    is_open: bool
    last_at: datetime | None
    now: datetime
