"""The eight states and the legal transitions. Spec: core, contract 2.1, 2.2."""

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Wire names."""

    SCHEDULED = "scheduled"
    PENDING = "pending"
    AVAILABLE = "available"
    ACTIVE = "active"
    RETRYABLE = "retryable"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    DISCARDED = "discarded"


CODES: Final[dict[State, int]] = {state: code for code, state in enumerate(State, start=1)}
_STATES: Final = dict(zip(CODES.values(), CODES, strict=True))

TERMINAL: Final = frozenset({State.COMPLETED, State.CANCELLED, State.DISCARDED})
WAITING: Final = frozenset(
    {State.SCHEDULED, State.PENDING, State.AVAILABLE, State.RETRYABLE}
)  # discardable without an attempt

TRANSITIONS: Final[dict[State | None, frozenset[State]]] = {
    None: frozenset({State.SCHEDULED, State.PENDING, State.AVAILABLE}),
    State.SCHEDULED: frozenset({State.AVAILABLE, State.CANCELLED, State.DISCARDED}),
    # to scheduled: activated before its scheduled_at (contract 2.6)
    State.PENDING: frozenset({State.AVAILABLE, State.SCHEDULED, State.CANCELLED, State.DISCARDED}),
    # to scheduled: rescheduled by its rate limit (contract 27, RL-7)
    State.AVAILABLE: frozenset({State.ACTIVE, State.SCHEDULED, State.CANCELLED, State.DISCARDED}),
    # to scheduled: a step waits for a time or a signal (contract 34.2)
    State.ACTIVE: frozenset(
        {
            State.COMPLETED,
            State.RETRYABLE,
            State.DISCARDED,
            State.AVAILABLE,
            State.CANCELLED,
            State.SCHEDULED,
        }
    ),
    State.RETRYABLE: frozenset({State.AVAILABLE, State.CANCELLED, State.DISCARDED}),
    State.COMPLETED: frozenset(),
    State.CANCELLED: frozenset({State.AVAILABLE}),  # manual retry by an operator
    State.DISCARDED: frozenset({State.AVAILABLE}),  # manual retry
}


def state_of(code: int) -> State:
    """Return the state of a storage code."""
    return _STATES[code]


def may(before: State | None, after: State) -> bool:
    """Return whether a transition is legal; None is a job not yet stored."""
    return after in TRANSITIONS[before]
