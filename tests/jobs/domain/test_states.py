"""States and transitions. Spec: contract 2.1, 2.2."""

import pytest

from jobs.domain.states import CODES, TERMINAL, TRANSITIONS, WAITING, State, may, state_of
from tests.spec import spec

A, S, P, R = State.AVAILABLE, State.SCHEDULED, State.PENDING, State.RETRYABLE
ACTIVE, COMPLETED, CANCELLED, DISCARDED = (
    State.ACTIVE, State.COMPLETED, State.CANCELLED, State.DISCARDED,
)  # fmt: skip
LEGAL: set[tuple[State | None, State]] = {
    (None, S), (None, P), (None, A),
    (S, A), (P, A), (P, S), (R, A), (A, S),
    (A, ACTIVE),
    (ACTIVE, COMPLETED), (ACTIVE, R), (ACTIVE, DISCARDED), (ACTIVE, A), (ACTIVE, CANCELLED),
    (ACTIVE, S),  # a step waits (contract 34.2)
    (S, CANCELLED), (P, CANCELLED), (A, CANCELLED), (R, CANCELLED),
    (S, DISCARDED), (P, DISCARDED), (A, DISCARDED), (R, DISCARDED),
    (DISCARDED, A), (CANCELLED, A),
}  # fmt: skip


@pytest.mark.parametrize("before", [None, *State])
@pytest.mark.parametrize("after", State)
@spec("contract 2.2")
def test_a_transition_is_legal_when_the_table_has_it(before: State | None, after: State) -> None:
    assert may(before, after) is ((before, after) in LEGAL)


@spec("contract 2.1")
def test_three_states_are_terminal_and_four_wait() -> None:
    assert {COMPLETED, CANCELLED, DISCARDED} == TERMINAL
    assert {A, S, P, R} == WAITING
    assert set(State) == TERMINAL | WAITING | {ACTIVE}


def test_a_completed_job_never_leaves_its_end() -> None:
    assert {state for state in TERMINAL if TRANSITIONS[state]} == {CANCELLED, DISCARDED}


def test_storage_codes_are_fixed() -> None:
    """Check the codes that the database and SQL contain: a new order loses data."""
    assert {state.value: code for state, code in CODES.items()} == {
        "scheduled": 1, "pending": 2, "available": 3, "active": 4,
        "retryable": 5, "completed": 6, "cancelled": 7, "discarded": 8,
    }  # fmt: skip
    assert all(state_of(code) is state for state, code in CODES.items())
