"""Let runs of a schedule follow each other (overlap policy `enqueue`). Spec: contract 7.4, D34.

A run that has to wait is `pending`, in the list of its schedule's turn. Who ends the run that
holds the turn passes it on right after its commit (`Cron.observe`); what that misses, a process
killed in between or a job that was ended by nobody who tells, the loop `cron_turns` finds.

Locks: the turn, then rows of jobs. Nobody who holds a row of a job waits for a turn.
"""

from collections.abc import Collection
from contextlib import suppress
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from jobs.domain.errors import OJSError
from jobs.domain.gates import Gate, GateState
from jobs.models import Job
from jobs.services.outcome.activate import activate
from jobs.services.read.show import live
from scheduling.models import CronTurn

BATCH = 100


def pass_on(ended: Collection[str]) -> int:
    """Pass on the turns that these jobs held; returns how many. One statement when none did."""
    held = list(CronTurn.objects.filter(holder__in=ended).values_list("entry_id", flat=True))
    return sum(map(settle, held))


def pass_on_forgotten() -> int:
    """Pass on turns whose holder has ended or is gone; returns how many."""
    alive = Job.objects.filter(pk=OuterRef("holder"), state__isnull=True)
    forgotten = CronTurn.objects.filter(~Exists(alive)).values_list("entry_id", flat=True)
    return sum(map(settle, list(forgotten[:BATCH])))


def explain(job_id: str) -> list[Gate]:
    """Return the gate of a run that waits for its turn; none for other jobs. One statement.

    There are no more turns than schedules that run now.
    """
    turn = CronTurn.objects.filter(waiting__contains=[job_id]).first()
    if turn is None:
        return []
    ahead = turn.waiting.index(UUID(job_id))
    runs = "run" if ahead == 1 else "runs"
    message = f"It waits until job {turn.holder} of the same schedule has ended"
    message += f", and {ahead} {runs} after that." if ahead else "."
    return [Gate("schedule_turn", GateState.CLOSED, message, numbers={"ahead": ahead})]


def settle(entry_id: int) -> bool:
    """Give the turn to the next run that waits if its holder has ended; tells whether it has."""
    with transaction.atomic():
        turn = CronTurn.objects.select_for_update().filter(pk=entry_id).first()
        if turn is None or _is_live(turn):
            return False
        while turn.waiting and not _is_live(turn):
            turn.holder, *turn.waiting = turn.waiting
            with suppress(OJSError):  # started, cancelled or removed by somebody else
                activate(str(turn.holder))
        if _is_live(turn):
            turn.save()
        else:
            turn.delete()
        return True


def _is_live(turn: CronTurn) -> bool:
    return bool(live([str(turn.holder)]))
