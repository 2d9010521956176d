"""Verbs on one job or many: the states they accept, and the jobs that a filter selects.

Spec: contract 11.2, 24.1, 28.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from jobs.domain.states import TERMINAL, State


class Verb(StrEnum):
    """The operation on each job."""

    CANCEL = "cancel"
    RETRY = "retry"
    DELETE = "delete"


LEAST_RATE, MOST_RATE = 10, 20_000  # jobs a second of an operation of the console
DONE: Final = {Verb.CANCEL: "cancelled", Verb.RETRY: "retried", Verb.DELETE: "deleted"}
# ended jobs that operators may run anew: contract 24.1
REVIVED: Final = frozenset({State.DISCARDED, State.CANCELLED})
# verbs of operators on many jobs: a retry also starts retryable jobs early
ALLOWED: Final[Mapping[Verb, frozenset[State]]] = {
    Verb.CANCEL: frozenset(State) - TERMINAL,
    Verb.RETRY: REVIVED | {State.RETRYABLE},
    Verb.DELETE: TERMINAL,
}
# verbs of clients on many jobs: contract 11.2 names these two states for a retry
ALLOWED_TO_CLIENTS: Final[Mapping[Verb, frozenset[State]]] = {
    **ALLOWED,
    Verb.RETRY: frozenset({State.DISCARDED, State.RETRYABLE}),
}
# The states of a filter without states. Running jobs must be named, and for a retry also cancelled
# jobs.
DEFAULTS: Final[Mapping[Verb, tuple[State, ...]]] = {
    Verb.CANCEL: (State.AVAILABLE, State.SCHEDULED),
    Verb.RETRY: (State.DISCARDED, State.RETRYABLE),
    Verb.DELETE: (State.COMPLETED, State.CANCELLED, State.DISCARDED),
}


@dataclass(frozen=True, slots=True)
class JobFilter:
    """A filter: all set members must match; `type` may end in `*`, times are of the latest enqueue.

    `states` empty: the default of the verb. `dead`: the dead letter alone.
    """

    queue: str | None = None
    type: str | None = None
    tenant: str | None = None
    error_type: str | None = None
    priority: int | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)  # contained in the job's meta
    since: datetime | None = None
    until: datetime | None = None
    older_than_ms: int | None = None
    states: tuple[State, ...] = ()
    dead: bool = False


def like(pattern: str) -> str:
    """Turn `mail.*` or an exact name into a LIKE pattern."""
    escaped = pattern.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return escaped[:-1] + "%" if escaped.endswith("*") else escaped
