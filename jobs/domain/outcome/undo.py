"""The ways back from a change of a job, and the reasons why there is none."""

from collections.abc import Mapping
from enum import StrEnum, unique
from typing import Final

from jobs.domain.states import CODES, TERMINAL, WAITING, State

ENDED: Final = frozenset(CODES[state] for state in TERMINAL)
WAITS: Final = frozenset(CODES[state] for state in WAITING)
AVAILABLE, ACTIVE = CODES[State.AVAILABLE], CODES[State.ACTIVE]
RETRYABLE, CANCELLED = CODES[State.RETRYABLE], CODES[State.CANCELLED]


@unique
class Way(StrEnum):
    """The change to take back."""

    REMOVE = "remove"
    CANCEL = "cancel"
    REVIVE = "revive"
    HASTEN = "hasten"
    PLACE = "place"  # another queue, or another priority


@unique
class Outcome(StrEnum):
    """The outcome of an undo for one job."""

    RESTORED = "restored"
    RAN = "ran"
    RUNNING = "running"
    WAS_RUNNING = "was_running"
    CHANGED = "changed"
    DELETED = "deleted"
    DUPLICATE = "duplicate"
    EXPIRED = "expired"
    HELD = "held"
    ID_IN_USE = "id_in_use"


REASONS: Final = {
    Outcome.RAN: "a worker has run it since",
    Outcome.RUNNING: "a worker runs it now",
    Outcome.WAS_RUNNING: "it was running when it was cancelled: retry it by hand",
    Outcome.CHANGED: "it was changed again since",
    Outcome.DELETED: "it was deleted since",
    Outcome.DUPLICATE: "another unique job took its place",
    Outcome.EXPIRED: "its expiry has passed",
    Outcome.HELD: "its schedule has moved on",
    Outcome.ID_IN_USE: "a new job has its id",
}


_WAYS: Final[Mapping[tuple[int, int | None], Way | Outcome]] = {
    **{(was, None): Way.REMOVE for was in CODES.values()},
    **{(was, CANCELLED): Way.CANCEL for was in WAITS},
    **{(was, AVAILABLE): Way.REVIVE for was in ENDED},
    (RETRYABLE, AVAILABLE): Way.HASTEN,
    (ACTIVE, CANCELLED): Outcome.WAS_RUNNING,
}


def way_back(was: int, left: int | None) -> Way | Outcome:
    """Return the way back to state `was` from the state that the operation left; None: deleted."""
    if left == was:
        return Outcome.RESTORED if was in ENDED else Way.PLACE
    return _WAYS.get((was, left), Outcome.CHANGED)


def reason(way: Way, state: int | None, *, ran: bool, attempt: int, is_same: bool) -> Outcome:
    """Return why a job stays as it is: it is in `state` now, `ran` if an attempt ended it.

    `is_same` states that its state is the one that the operation left.
    """
    if way is Way.REMOVE:
        return Outcome.ID_IN_USE
    if state is None:
        return Outcome.DELETED
    if state == ACTIVE:
        return Outcome.RUNNING
    if ran or (way is Way.REVIVE and (attempt > 0 or is_same)):
        return Outcome.RAN
    return Outcome.CHANGED
