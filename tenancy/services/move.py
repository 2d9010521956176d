"""Move a tenant from this cell to another, step by step. See docs/adr/0047-cells.md.

Each step is a transaction in one cell, which locks the row of the move first and no row of the
other cell. A step that was done before changes nothing. So a killed move is completed when `run` is
called again, and two processes may run the same move.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event
from time import monotonic
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import IntegrityError
from django.utils import timezone

from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.extensions import MoveHooks, Remark, implementers
from jobs.models import Move, MovingJob
from jobs.repeat import repeated
from jobs.services.audit.audit import record
from jobs.services.cells import moving_access, moving_jobs, remarks
from jobs.services.cells.other_cell import OtherCell, own_name
from jobs.services.lanes import configuration
from tenancy.conf import conf
from tenancy.domain.errors import MoveRefused
from tenancy.domain.move import UNFINISHED, MoveStep
from tenancy.domain.tenant import Standing
from tenancy.domain.tenant_request import parse_tenant
from tenancy.models import Tenant
from tenancy.services import tenants
from tenancy.services.documents import TENANT
from tenancy.services.moves import as_mover

LOOK_S: Final = 0.2  # between two looks at active jobs
PASSES: Final = 100  # over jobs that came while others were moved
SHOWN: Final = 5  # sessions in a message


@dataclass(frozen=True, slots=True)
class Wanted:
    """A move as the operator asks for it; `address` is for producers, null: not said."""

    tenant: str
    other: OtherCell
    caller: Caller
    address: str | None = None
    wait_s: float = 300.0  # for active jobs and open transactions
    tell: Callable[[str], None] = field(default=lambda _: None)  # the progress


@dataclass(frozen=True, slots=True)
class Moved:
    """The outcome of a move; jobs by the name of their state."""

    tenant: str
    jobs: dict[str, int]
    refused_s: float  # how long new jobs were refused
    notes: Sequence[str] = ()


# --- before the move ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Preview:
    """What would move, by the name of the state, and the remarks of both cells."""

    jobs: dict[str, int]
    remarks: Sequence[Remark]

    @property
    def obstacles(self) -> list[str]:
        """The remarks that refuse the move."""
        return [one.text for one in self.remarks if one.is_obstacle]

    @property
    def notes(self) -> list[str]:
        """All other remarks."""
        return [one.text for one in self.remarks if not one.is_obstacle]


def preview(wanted: Wanted) -> Preview:
    """Look at both cells, and change nothing. Raises NotFound for an unknown tenant."""
    found = remarks.of_schema("old")
    with wanted.other.inside():
        found += remarks.of_schema("new")
    if wanted.other.is_this_cell():
        found.append(Remark("--to names the database of this cell", is_obstacle=True))
    if found:
        return Preview({}, found)
    tenants.find(wanted.tenant)
    found += _of_tenant(wanted.tenant)
    found += remarks.of_old_cell(wanted.tenant)
    queues = remarks.queues_of(wanted.tenant)
    access = moving_access.read(wanted.tenant)
    with wanted.other.inside():
        found += remarks.of_new_cell(wanted.tenant, access)
        found += remarks.compare(queues, remarks.queues_named(set(queues)))
        if Tenant.objects.filter(id=wanted.tenant).exists():
            found.append(Remark("the configuration of the tenant in the new cell is replaced"))
        if Move.objects.filter(tenant=wanted.tenant, step__in=UNFINISHED, is_source=True).exists():
            text = f"tenant {wanted.tenant} is just leaving the new cell"
            found.append(Remark(text, is_obstacle=True))
    live = {str(one.state): one.jobs for one in moving_jobs.live(wanted.tenant)}
    return Preview(remarks.by_name(live), found)


def _of_tenant(tenant: str) -> Iterator[Remark]:
    if not conf().enabled:
        yield Remark("OJS_TENANCY has tenants switched off", is_obstacle=True)
    if tenant == conf().default:
        yield Remark(f"{tenant} is the default tenant, which is in each cell", is_obstacle=True)
    if any(raw["tenant_id"] == tenant for raw in conf().tenants):
        text = "OJS_TENANCY names the tenant: name it in the settings of the new cell instead"
        yield Remark(text)


# --- the move -------------------------------------------------------------------------------------


def run(wanted: Wanted) -> Moved:
    """Move a tenant, or complete its move. Raises MoveRefused, Conflict, NotFound.

    Only in a process without other threads that use the database: see OtherCell.
    """
    began = monotonic()
    move = _unfinished(wanted)
    notes: Sequence[str] = ()
    if move is None and (done := _done(wanted)) is not None:
        return done
    if move is None:
        notes = _accepted(wanted)
        move = _begin(wanted)
    if move.step == MoveStep.DRAINING:
        _drain(wanted, move)
        _advance(wanted, move.move_id)
    _receive(wanted, move.move_id)
    _copy(wanted, move.move_id)
    jobs = _complete(wanted, move.move_id)
    took_s = (timezone.now() - move.began_at).total_seconds()
    return Moved(wanted.tenant, jobs, max(took_s, monotonic() - began), notes)


def _unfinished(wanted: Wanted) -> Move | None:
    """Return the move to complete. Raises MoveRefused for a move to or from a third cell."""
    found = Move.objects.filter(tenant=wanted.tenant, step__in=UNFINISHED).first()
    if found is None:
        return None
    if not found.is_source:
        raise MoveRefused(
            f"tenant {wanted.tenant} is just arriving from {found.other}: complete that move, in"
            " the cell from which it comes"
        )
    if found.other != wanted.other.name:
        raise MoveRefused(
            f"tenant {wanted.tenant} is moving to {found.other}: complete that move, or give it up"
            " with --cancel"
        )
    return found


def _done(wanted: Wanted) -> Moved | None:
    """Return the outcome of a move that is complete. Raises MoveRefused if jobs came back since.

    A second move would overwrite the tenant in the cell that serves it.
    """
    move = Move.objects.filter(
        tenant=wanted.tenant, is_source=True, step=MoveStep.DONE, ended_at__isnull=False
    ).first()
    if move is None or move.ended_at is None:
        return None
    if move.other != wanted.other.name or moving_jobs.live(wanted.tenant):
        raise MoveRefused(
            f"tenant {wanted.tenant} has moved to {move.other}: resume it in this cell first, if"
            " this cell is to serve it again, or cancel the jobs that are here"
        )
    took_s = (move.ended_at - move.began_at).total_seconds()
    return Moved(wanted.tenant, remarks.by_name(move.jobs), took_s, ["it had moved before"])


def _accepted(wanted: Wanted) -> list[str]:
    """Return the notes for the operator. Raises MoveRefused with all obstacles."""
    found = preview(wanted)
    if found.obstacles:
        raise MoveRefused(_listed(wanted.tenant, found.obstacles))
    return found.notes


def _listed(tenant: str, obstacles: Sequence[str]) -> str:
    lines = "".join(f"\n- {one}" for one in obstacles)
    return f"tenant {tenant} cannot move:{lines}"


def _begin(wanted: Wanted) -> Move:
    """Suspend the tenant in the old cell, and take out what must not act in two cells."""

    def begin() -> Move:
        with atomic(), as_mover():
            row = tenants.find(wanted.tenant)
            Move.objects.filter(tenant=wanted.tenant, step=MoveStep.DONE, is_source=False).delete()
            move = Move.objects.create(
                tenant=wanted.tenant, move_id=uuid4(), is_source=True, step=MoveStep.DRAINING,
                other=wanted.other.name, address=wanted.address,
                was_suspended=row.state == Standing.SUSPENDED,
            )  # fmt: skip
            reason = wanted.caller.reason or f"it moves to {wanted.address or wanted.other.name}"
            tenants.set_standing(wanted.tenant, Standing.SUSPENDED, wanted.caller, reason=reason)
            for name, extension in _takers():
                if (taken := extension.take_out(wanted.tenant, wanted.caller)) is not None:
                    move.kept[name] = taken
            move.save(update_fields=["kept"])
            data = {"to": wanted.other.name, "address": wanted.address}
            record(wanted.caller, "tenant.move_begun", wanted.tenant, reason=reason, data=data)
            return move

    try:
        move = repeated(begin)
    except IntegrityError:
        raise MoveRefused(f"another process moves tenant {wanted.tenant}") from None
    wanted.tell("suspended in the old cell")
    return move


def _takers() -> Iterator[tuple[str, MoveHooks]]:
    for extension in implementers(MoveHooks.take_out):
        yield type(extension).__name__, extension


def _drain(wanted: Wanted, move: Move) -> None:
    """Wait until no job is active, and until no transaction runs that may not know the suspension.

    Gives the move up if the time is over, or if a job cannot move by now. Raises MoveRefused.
    """
    end = monotonic() + wanted.wait_s
    before = moving_jobs.open_transactions()
    while (why := _hindrance(wanted.tenant, before)) is not None:
        if monotonic() > end:
            _give_up(wanted, move.move_id)
            raise MoveRefused(
                f"{why} after {wanted.wait_s:g} s: the tenant is as before. Wait and run the"
                " command again, or give --wait a longer time"
            )
        Event().wait(LOOK_S)
    found = [one.text for one in remarks.of_old_cell(wanted.tenant) if one.is_obstacle]
    if found:
        _give_up(wanted, move.move_id)
        raise MoveRefused(_listed(wanted.tenant, found))
    wanted.tell("no job is active")


def _hindrance(tenant: str, before: dict[str, int]) -> str | None:
    """Return why the drain goes on; `before`: transactions that may not know the suspension."""
    now = moving_jobs.open_transactions()
    if still := sorted({now[one] for one in before.keys() & now.keys()}):
        return f"sessions {', '.join(map(str, still[:SHOWN]))} have open transactions"
    if active := moving_jobs.active(tenant):
        return f"{active} jobs of tenant {tenant} are active"
    return None


def _advance(wanted: Wanted, move_id: UUID) -> None:
    def advance() -> None:
        with atomic():
            move = moving_jobs.locked(wanted.tenant, move_id)
            if move.step == MoveStep.DRAINING:
                move.step = MoveStep.COPYING
                move.save(update_fields=["step"])

    repeated(advance)


def _receive(wanted: Wanted, move_id: UUID) -> None:
    """Make the tenant in the new cell, suspended, with its configuration, keys and limits."""
    document = TENANT.read(wanted.tenant, None)
    access = moving_access.read(wanted.tenant)
    own = own_name()
    with wanted.other.inside():

        def receive() -> bool:
            with atomic(), as_mover():
                if not _expected(wanted, move_id, own):
                    return False
                definition = parse_tenant(
                    wanted.tenant, {**(document or {}), "state": str(Standing.SUSPENDED)}
                )
                tenants.put(wanted.tenant, definition, wanted.caller, reason=f"it comes from {own}")
                moving_access.write(wanted.tenant, access, wanted.caller)
                return True

        is_open = repeated(receive)
    if is_open:
        for page in moving_access.pages(wanted.tenant):
            with wanted.other.inside():
                moving_access.write_page(page)
        wanted.tell("suspended in the new cell, with its configuration, keys and limits")


def _expected(wanted: Wanted, move_id: UUID, own: str) -> bool:
    """Lock or make the row of the move in the new cell; returns whether the move is unfinished.

    Raises MoveRefused for a move from a third cell, or if both cells are one.
    """
    move = Move.objects.select_for_update().filter(tenant=wanted.tenant).first()
    if move is not None and move.move_id == move_id:
        if move.is_source:
            raise MoveRefused("--to names the database of this cell")
        return move.step != MoveStep.DONE
    if move is not None and move.step in UNFINISHED and (move.is_source or move.batch):
        raise MoveRefused(
            f"tenant {wanted.tenant} has an unfinished move in the new cell ({move.other}):"
            " complete that move first"
        )
    Move.objects.filter(tenant=wanted.tenant).delete()
    Move.objects.create(
        tenant=wanted.tenant, move_id=move_id, is_source=False, step=MoveStep.RECEIVING, other=own
    )
    return True


def _copy(wanted: Wanted, move_id: UUID) -> None:
    """Take all jobs to the new cell, also jobs that came meanwhile. Raises MoveRefused."""
    end = monotonic() + wanted.wait_s
    moved = 0
    for _ in range(PASSES):
        while batch := moving_jobs.pack(wanted.tenant, move_id):  # ends with the list
            jobs = moving_jobs.read(wanted.tenant, batch)
            with wanted.other.inside():
                moving_jobs.store(wanted.tenant, move_id, batch, jobs)
            moving_jobs.forget(wanted.tenant, move_id, jobs)
            moved += len(jobs)
            wanted.tell(f"{moved} jobs moved")
        left = moving_jobs.live(wanted.tenant)
        if not left:
            return
        if any(one.watched for one in left) or monotonic() > end:
            break
        Event().wait(LOOK_S)
    number = sum(one.jobs for one in left)
    raise MoveRefused(
        f"{number} jobs of tenant {wanted.tenant} are left in the old cell, because they are active"
        " or an extension follows them: cancel them or wait, then run the command again"
    )


def _complete(wanted: Wanted, move_id: UUID) -> dict[str, int]:
    """Compare the numbers of both cells and resume the tenant in the new cell; returns the jobs."""
    source = Move.objects.get(tenant=wanted.tenant, move_id=move_id)
    with wanted.other.inside():
        repeated(lambda: _arrive(wanted, move_id, source))
    wanted.tell("resumed in the new cell")
    repeated(lambda: _depart(wanted, move_id))
    return remarks.by_name(source.jobs)


def _arrive(wanted: Wanted, move_id: UUID, source: Move) -> None:
    with atomic(), as_mover():
        move = moving_jobs.locked(wanted.tenant, move_id)
        if move.step == MoveStep.DONE:
            return
        if move.jobs != source.jobs:
            raise MoveRefused(
                f"{remarks.by_name(source.jobs)} jobs left the old cell, but"
                f" {remarks.by_name(move.jobs)} came to the new cell: nothing is resumed"
            )
        _put_in(wanted, source.kept)
        if not source.was_suspended:
            reason = f"it has come from {move.other}"
            tenants.set_standing(wanted.tenant, Standing.ACTIVE, wanted.caller, reason=reason)
        move.step, move.ended_at = MoveStep.DONE, timezone.now()
        move.save(update_fields=["step", "ended_at"])
        data = {"from": move.other, "jobs": remarks.by_name(move.jobs)}
        record(wanted.caller, "tenant.moved_in", wanted.tenant, data=data)


def _depart(wanted: Wanted, move_id: UUID) -> None:
    with atomic():
        move = moving_jobs.locked(wanted.tenant, move_id)
        if move.step == MoveStep.DONE:
            return
        move.step, move.ended_at, move.kept = MoveStep.DONE, timezone.now(), {}
        move.save(update_fields=["step", "ended_at", "kept"])
        data = {"to": move.other, "jobs": remarks.by_name(move.jobs)}
        record(wanted.caller, "tenant.moved_out", wanted.tenant, data=data)


def _put_in(wanted: Wanted, kept: dict[str, Any]) -> None:
    for name, extension in _takers():
        if name in kept:
            extension.put_in(wanted.tenant, kept[name], wanted.caller)


# --- giving up ------------------------------------------------------------------------------------


def cancel(wanted: Wanted) -> None:
    """Give up a move that has moved no job. Raises MoveRefused."""
    move = _unfinished(wanted)
    if move is None:
        raise MoveRefused(f"tenant {wanted.tenant} is not moving")
    if move.step != MoveStep.DRAINING:
        with wanted.other.inside():
            repeated(lambda: _turn_away(wanted.tenant, move.move_id))
    _give_up(wanted, move.move_id)


def _turn_away(tenant: str, move_id: UUID) -> None:
    """Forget the move in the new cell, so that no batch of another process is stored there."""
    with atomic():
        move = Move.objects.select_for_update().filter(tenant=tenant, move_id=move_id).first()
        if move is None:
            return
        _require_unmoved(move)
        move.delete()


def _give_up(wanted: Wanted, move_id: UUID) -> None:
    """Let the old cell serve the tenant again."""

    def give_up() -> None:
        with atomic(), as_mover():
            move = moving_jobs.locked(wanted.tenant, move_id)
            _require_unmoved(move)
            configuration.hold()
            _put_in(wanted, move.kept)
            if not move.was_suspended:
                reason = "the move to another cell was given up"
                tenants.set_standing(wanted.tenant, Standing.ACTIVE, wanted.caller, reason=reason)
            MovingJob.objects.filter(tenant=wanted.tenant).delete()
            move.delete()
            record(wanted.caller, "tenant.move_cancelled", wanted.tenant)

    repeated(give_up)


def _require_unmoved(move: Move) -> None:
    if move.batch or move.step == MoveStep.DONE:
        raise MoveRefused(
            f"jobs of tenant {move.tenant} have left the old cell: complete the move by running the"
            " command again, and then move the tenant back"
        )
