"""Verbs on one job or many: which states they take, and which jobs a filter means.

Spec: contract 11.2, 24.1, 28.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from jobs.domain.states import TERMINAL, State


class Verb(StrEnum):
    """What is done to each job."""

    CANCEL = "cancel"
    RETRY = "retry"
    DELETE = "delete"


DONE: Final = {Verb.CANCEL: "cancelled", Verb.RETRY: "retried", Verb.DELETE: "deleted"}
# ended jobs that operators may run anew: 24.1
REVIVED: Final = frozenset({State.DISCARDED, State.CANCELLED})
# what operators may do to many jobs: a retry also hastens those that wait for theirs
ALLOWED: Final[Mapping[Verb, frozenset[State]]] = {
    Verb.CANCEL: frozenset(State) - TERMINAL,
    Verb.RETRY: REVIVED | {State.RETRYABLE},
    Verb.DELETE: TERMINAL,
}
# what clients may do to many jobs: 11.2 names these two states for a retry
ALLOWED_TO_CLIENTS: Final[Mapping[Verb, frozenset[State]]] = {
    **ALLOWED,
    Verb.RETRY: frozenset({State.DISCARDED, State.RETRYABLE}),
}
# what a filter without states means: running jobs must be named, and so must those that somebody
# cancelled before they run after all
DEFAULTS: Final[Mapping[Verb, tuple[State, ...]]] = {
    Verb.CANCEL: (State.AVAILABLE, State.SCHEDULED),
    Verb.RETRY: (State.DISCARDED, State.RETRYABLE),
    Verb.DELETE: (State.COMPLETED, State.CANCELLED, State.DISCARDED),
}


@dataclass(frozen=True, slots=True)
class JobFilter:
    """AND of what is set; `type` may end in `*`, times are those of the latest enqueue.

    `states` empty: the default of the verb. `dead`: the dead letter alone.
    """

    queue: str | None = None
    type: str | None = None
    tenant: str | None = None
    error_type: str | None = None
    priority: int | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)  # contained in the job's
    since: datetime | None = None
    until: datetime | None = None
    older_than_ms: int | None = None
    states: tuple[State, ...] = ()
    dead: bool = False


def like(pattern: str) -> str:
    """Turn `mail.*` or an exact name into a LIKE pattern."""
    escaped = pattern.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return escaped[:-1] + "%" if escaped.endswith("*") else escaped
