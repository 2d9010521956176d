"""Tell whether a tenant moves to another cell, and keep operators from changing it meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from jobs.models import Move
from tenancy.domain.errors import TenantMoving, TenantSuspended
from tenancy.domain.move import MOVED_RETRY_S, MOVING_RETRY_S, UNFINISHED, MoveStep

_is_mover: ContextVar[bool] = ContextVar("is_mover", default=False)


@contextmanager
def as_mover() -> Iterator[None]:
    """Let the move itself change the tenant."""
    token = _is_mover.set(True)
    try:
        yield
    finally:
        _is_mover.reset(token)


def moving(tenant_ids: list[str] | None = None) -> set[str]:
    """Return the tenants that are just leaving or entering this cell; None: of all tenants."""
    found = Move.objects.filter(step__in=UNFINISHED)
    if tenant_ids is not None:
        found = found.filter(tenant__in=tenant_ids)
    return set(found.values_list("tenant", flat=True))


def require_still(tenant_id: str) -> None:
    """Refuse a change of a tenant that is moving. Raises TenantMoving.

    Call it while the transaction holds the configuration version. A move begins under this lock,
    too, so either this function sees the move, or the move sees the change.
    """
    if not _is_mover.get() and moving([tenant_id]):
        raise TenantMoving(
            f"tenant {tenant_id} is moving to another cell", details={"tenant_id": tenant_id}
        )


def forget_moved(tenant_id: str) -> None:
    """Forget that a tenant has left this cell, since this cell serves it again."""
    if not _is_mover.get():
        Move.objects.filter(tenant=tenant_id, step=MoveStep.DONE, is_source=True).delete()


def suspended(tenant_id: str) -> TenantSuspended:
    """Return the refusal of new jobs of a suspended tenant; it tells if the tenant moves."""
    message, details = f"tenant {tenant_id} is suspended", {"tenant_id": tenant_id}
    move = Move.objects.filter(tenant=tenant_id).first()
    if move is None or (move.step == MoveStep.DONE and not move.is_source):
        return TenantSuspended(message, details=details)
    if not move.is_source:
        message += ": it is just arriving from another cell"
        return TenantSuspended(message, details=details, headers=_retry_after(MOVING_RETRY_S))
    is_done = move.step == MoveStep.DONE
    message += f": it {'has moved' if is_done else 'is moving'} to {move.address or 'another cell'}"
    if move.address is not None:
        details["moved_to" if is_done else "moving_to"] = move.address
    wait_s = MOVED_RETRY_S if is_done else MOVING_RETRY_S
    return TenantSuspended(message, details=details, headers=_retry_after(wait_s))


def _retry_after(seconds: int) -> dict[str, str]:
    return {"Retry-After": str(seconds)}
