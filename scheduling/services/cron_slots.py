"""Let runs of a schedule follow one another (overlap policy `enqueue`). Spec: contract 7.4, D34.

A run that has to wait is `pending`, in the list of its schedule's overlap slot. The process that
ends the holder passes the slot on right after its commit (`Cron.observe`). The loop `cron_turns`
finds the rest: the process was killed in between, or the end of the job called no hook.

Locks: the slot, then rows of jobs. A transaction that holds a job's row never waits for a slot.
"""

from collections.abc import Collection
from contextlib import suppress
from uuid import UUID

from django.db.models import Exists, OuterRef

from jobs.database import atomic
from jobs.domain.dispatch.gates import Gate, GateState
from jobs.domain.errors import OJSError
from jobs.models import Job
from jobs.services.outcome.activate import activate
from jobs.services.read.show import live
from scheduling.models import CronTurn

BATCH = 100


def pass_on(ended: Collection[str]) -> int:
    """Pass on the slots that these jobs held; returns how many. One statement if there are none."""
    held = list(CronTurn.objects.filter(holder__in=ended).values_list("entry_id", flat=True))
    return sum(map(pass_slot, held))


def pass_on_forgotten() -> int:
    """Pass on slots whose holder has ended or is gone; returns how many."""
    alive = Job.objects.filter(pk=OuterRef("holder"), state__isnull=True)
    forgotten = CronTurn.objects.filter(~Exists(alive)).values_list("entry_id", flat=True)
    return sum(map(pass_slot, list(forgotten[:BATCH])))


def explain(job_id: str) -> list[Gate]:
    """Return the gate of a run that waits for its slot; none for other jobs. One statement.

    There are at most as many slots as schedules with a live run.
    """
    slot = CronTurn.objects.filter(waiting__contains=[job_id]).first()
    if slot is None:
        return []
    ahead = slot.waiting.index(UUID(job_id))
    runs = "run" if ahead == 1 else "runs"
    message = f"It waits until job {slot.holder} of the same schedule has ended"
    message += f", and {ahead} {runs} after that." if ahead else "."
    return [Gate("schedule_turn", GateState.CLOSED, message, numbers={"ahead": ahead})]


def pass_slot(entry_id: int) -> bool:
    """Give the slot to the next waiting run if its holder has ended; returns whether it has."""
    with atomic():
        slot = CronTurn.objects.select_for_update().filter(pk=entry_id).first()
        if slot is None or _is_live(slot):
            return False
        while slot.waiting and not _is_live(slot):
            slot.holder, *slot.waiting = slot.waiting
            with suppress(OJSError):  # another process started, cancelled or removed it
                activate(str(slot.holder))
        if _is_live(slot):
            slot.save()
        else:
            slot.delete()
        return True


def _is_live(slot: CronTurn) -> bool:
    return bool(live([str(slot.holder)]))
