"""Alerts for operators."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert: `subject` names the affected object, such as a queue, for its `kind`."""

    kind: str  # "queue_starved"
    subject: str
    text: str  # a sentence
    since: datetime | None = None
    tenant: str | None = None  # the only tenant it concerns; None: the system


class Noted(NamedTuple):
    """A note of a loop about one subject; `facts` depend on the kind."""

    kind: str
    subject: str
    since: datetime | None
    tenant: str | None
    facts: Mapping[str, Any]
