"""What an operator should look at now."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that is not as it should be: `subject` names it among those of its `kind`."""

    kind: str  # "queue_starved"
    subject: str
    text: str  # a sentence
    since: datetime | None = None
    tenant: str | None = None  # whose it is alone; None: the system's
