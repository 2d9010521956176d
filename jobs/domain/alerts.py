"""What an operator should look at now."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that is not as it should be: `subject` names it among those of its `kind`."""

    kind: str  # "queue_starved"
    subject: str
    text: str  # a sentence
    since: datetime | None = None
    tenant: str | None = None  # whose it is alone; None: the system's


class Noted(NamedTuple):
    """What some loop has noted of one thing; `facts` are those of its kind."""

    kind: str
    subject: str
    since: datetime | None
    tenant: str | None
    facts: Mapping[str, Any]
