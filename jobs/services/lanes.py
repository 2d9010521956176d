"""Lanes by key: found or made on first use and cached, woken, and set by extensions."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from django.db import DatabaseError, connection, transaction

from jobs import queries
from jobs.domain.claim import LaneKey
from jobs.models import Lane

LANE_GONE = "OJS01"  # raised by ojs_wake: the cache is older than the table

_known: dict[LaneKey, int] = {}
# (weight, cap) of new lanes by tenant; set once by the tenancy extension
_terms: list[Callable[[Sequence[str]], Mapping[str, tuple[float, int | None]]]] = []


def resolve(keys: Iterable[LaneKey]) -> dict[LaneKey, int]:
    """Return the lane id of every key; one statement when some key is new to this process."""
    wanted = set(keys)
    found = {key: _known[key] for key in wanted if key in _known}
    missing = sorted(wanted - found.keys())
    while missing:
        made = queries.lanes(missing, _terms_of(missing))
        found |= made
        # a lane made in a transaction that rolls back was never there
        transaction.on_commit(lambda made=made: _known.update(made))  # type: ignore[misc]  # default binds
        missing = [key for key in missing if key not in made]
    return found


def _terms_of(keys: Iterable[LaneKey]) -> Mapping[str, tuple[float, int | None]]:
    tenants = sorted({key.tenant for key in keys})
    return _terms[0](tenants) if _terms else {}


def forget() -> None:
    """Drop the cache, after OJS01 or a reset."""
    _known.clear()


def is_gone(problem: DatabaseError) -> bool:
    """Tell whether a statement failed because a cached lane no longer exists."""
    return getattr(problem.__cause__, "sqlstate", None) == LANE_GONE


def defers_waking() -> bool:
    """Tell whether lanes are woken after the caller's commit instead of in the statement.

    Waking takes locks until commit, and a host's transaction may be long.
    """
    return connection.in_atomic_block


def wake(lane_ids: Sequence[int]) -> None:
    """Offer lanes to the claim, after the commit that put jobs into them."""
    try:
        queries.wake(lane_ids)
    except DatabaseError as problem:
        if not is_gone(problem):
            raise
        forget()  # the heal loop offers what is left of them


def set_terms(tenant: str, *, weight: float, cap: int | None) -> int:
    """Give all lanes of a tenant a weight and a cap at once; returns how many there are."""
    return Lane.objects.filter(tenant=tenant).update(weight=weight, cap=cap, blocked=False)


def set_paused(lane_ids: Sequence[int], *, paused: bool) -> int:
    """Hold lanes back, or offer them again; returns how many there are."""
    return Lane.objects.filter(id__in=lane_ids).update(paused=paused)
