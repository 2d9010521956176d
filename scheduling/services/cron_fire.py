"""Fire due schedules: the body of the loop `cron`. Spec: contract 7.3.

One transaction locks a schedule's row, stores its job and writes its next run. So an occurrence
fires once, even if several loops run or one of them is killed.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import Error, InterfaceError, OperationalError
from django.db.models import DurationField, Exists, ExpressionWrapper, F, QuerySet
from django.db.models.functions import Now

from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Duplicate, OJSError
from jobs.models import Maintenance
from jobs.services.operate.maintenance import NOT_OVER
from scheduling.domain.cron import Interval, Schedule, parse, plan, skipped_until
from scheduling.domain.overlap import Overlap, Reason
from scheduling.models import WITH_NOW, CronEntry
from scheduling.services.cron_run import ACTOR, Firing, make, note

logger = logging.getLogger("ojs.cron")

BATCH = 500
OPEN = ~Exists(Maintenance.objects.filter(NOT_OVER))  # read in the statements themselves
MAX_DETAIL = 500  # stored characters of a refusal


def fire(batch: int = BATCH) -> int:
    """Fire one batch of due schedules; returns how many were due.

    1. Fire all simple schedules together: a fixed number of statements.
    2. Fire the rest one by one: schedules that cancel their latest run, schedules that were
       refused lately, and the whole batch of step 1 if one of its schedules is refused.

    During maintenance none fires; the missed runs are then handled as after an outage.
    """
    with atomic():
        entries = list(_due()[:batch])
        together = [entry for entry in entries if not _needs_care(entry)]
        is_done = not together or _fire_together(together)
    handled = {entry.id for entry in together} if is_done else set()
    for entry in entries:
        if entry.id not in handled:
            _fire_alone(entry.id)
    return len(entries)


def due_in_ms() -> int | None:
    """Return the ms until the next schedule is due; None if none is, or during maintenance."""
    left = ExpressionWrapper(F("due_at") - Now(), output_field=DurationField())
    waiting = CronEntry.objects.filter(OPEN, due_at__isnull=False).order_by("due_at", "id")
    first = waiting.values_list(left, flat=True).first()
    return None if first is None else int(first.total_seconds() * 1000)


def _due() -> QuerySet[CronEntry]:
    """Lock due schedules and skip rows that another loop holds; each row has the time as `now`."""
    due = CronEntry.objects.filter(OPEN, due_at__lte=Now()).annotate(**WITH_NOW)
    return due.order_by("due_at", "id").select_for_update(skip_locked=True)


def _needs_care(entry: CronEntry) -> bool:
    cancels = entry.overlap_policy == Overlap.CANCEL_PREVIOUS and entry.last_job_id is not None
    return cancels or entry.apart


def _fire_together(entries: Sequence[CronEntry]) -> bool:
    """Fire locked schedules; return false if one fails, and then no change remains."""
    try:
        with atomic():
            due = [one for entry in entries if (one := _due_firings(entry))]
            make([one.run for one in due if one.run], Caller(ACTOR))
            note([firing for one in due for firing in one.firings])
    except (OperationalError, InterfaceError):  # no schedule's fault: the loop tries again
        raise
    except Exception as problem:
        if not isinstance(problem, OJSError):
            logger.warning("cron.batch_failed", extra={"schedules": len(entries)}, exc_info=True)
        return False
    return True


def _fire_alone(entry_id: int) -> None:
    with atomic():
        entry = _due().filter(pk=entry_id).first()
        due = _due_firings(entry) if entry else None
        if due is None:
            return
        if due.run:
            _try(due.run)
        note(due.firings)


def _try(run: Firing) -> None:
    """Make the job; a refusal is recorded, and undoes the cancellation of the previous run."""
    try:
        with atomic():
            make([run], Caller(ACTOR))
    except (OperationalError, InterfaceError):
        raise
    except Duplicate as problem:
        run.skip(Reason.DUPLICATE, problem.details.get("existing_job_id"), _short(problem))
    except OJSError as problem:
        run.skip(problem.code.lower(), detail=_short(problem))
    except Exception as problem:  # a broken schedule must not delay other schedules
        name = run.entry.name
        logger.exception("cron.failed", extra={"cron": name, "is_sql": isinstance(problem, Error)})
        run.skip(Reason.FAILED, detail=type(problem).__name__)


def _short(problem: OJSError) -> str:
    return problem.message[:MAX_DETAIL]


@dataclass(frozen=True, slots=True)
class _DueFirings:
    """Due firings of one schedule: skipped local times, and a run."""

    skipped: list[Firing]
    run: Firing | None

    @property
    def firings(self) -> list[Firing]:
        return [*self.skipped, *([self.run] if self.run else [])]


def _due_firings(entry: CronEntry) -> _DueFirings | None:
    """Collect the due firings of a locked schedule and set its next times.

    However many runs were missed, one run makes up for all. A schedule without a further run is
    disabled. A schedule that this release cannot parse is disabled as well, and the result is None.
    """
    now: datetime = entry.now
    due_at, run_at = entry.due_at, entry.next_run_at
    assert due_at is not None  # noqa: S101 - by the constraint of the table
    assert run_at is not None  # noqa: S101
    try:
        schedule = parse(entry.expression, entry.timezone)
    except (ValueError, LookupError, OSError):  # zone or expression not supported here
        logger.exception("cron.unreadable", extra={"cron": entry.name})
        _switch_off(entry)
        return None
    gone = [] if isinstance(schedule, Interval) else skipped_until(schedule, due_at, now)
    skipped = [Firing(entry, one.at, reason=Reason.CLOCKS) for one in gone]
    run = Firing(entry, run_at) if run_at <= now else None
    coming = plan(schedule, _since(schedule, run_at, now))
    entry.enabled = coming is not None
    entry.due_at = coming.due_at if coming else None
    entry.next_run_at = coming.next_run_at if coming else None
    return _DueFirings(skipped, run)


def _since(schedule: Schedule, run_at: datetime, now: datetime) -> datetime:
    """Return the base time of the next run: an interval that is on time keeps its rhythm."""
    if isinstance(schedule, Interval) and run_at <= now < run_at + schedule.length:
        return run_at
    return now


def _switch_off(entry: CronEntry) -> None:
    CronEntry.objects.filter(pk=entry.pk).update(
        enabled=False, due_at=None, next_run_at=None, updated_at=Now()
    )
