"""Write the log lines of jobs and workers. Spec: contract 32.5; see docs/adr/0021.

One loop writes them from the event record; a request writes none. The loop writes lines before it
stores its position. So an event can have two lines after a crash, and no event lacks its line.
"""

import logging

from jobs import queries
from jobs.conf import conf
from jobs.domain.loglines import THINNED, Line, line_of, wanted_kinds
from jobs.models import LogPosition, LoopTick

logger = logging.getLogger("ojs.lifecycle")

LOOP = "log"
BATCH = 1_000
ABSENT_MS = 600_000  # after so long without a run, retention no longer waits for the loop


def log(batch: int = BATCH) -> int:
    """Write the lines of one batch of events; returns how many were read.

    The first call only sets the start. If the log level excludes all lines, the position is
    deleted.
    """
    kinds = wanted_kinds(logger.isEnabledFor)
    position = LogPosition.objects.filter(id=1).first()
    if not kinds or position is None:
        _begin_or_end(is_wanted=bool(kinds), is_placed=position is not None)
        return 0
    params = {"kinds": kinds, "thinned": list(THINNED), "sample": conf().log_sample}
    read = queries.recorded(position, params, batch)
    if read is None:
        return 0
    for event in read.events:
        line = line_of(event)
        if line is not None:
            _write(line)
    # nothing is locked while lines are written: their reader may be slow
    LogPosition.objects.filter(id=1, stamp=position.stamp, seq=position.seq).update(
        stamp=read.stamp, seq=read.seq
    )
    return read.looked_at


def unread_from() -> int | None:
    """Return the stamp behind which lines are not written yet, None when no loop writes lines."""
    is_there = LoopTick.objects.filter(name=LOOP, ticked_at__gt=queries.ago(ABSENT_MS)).exists()
    if not is_there:
        return None
    stamp = LogPosition.objects.filter(id=1).values_list("stamp", flat=True).first()
    return None if stamp is None else int(stamp)


def is_beat_logged() -> bool:
    """Return whether heartbeats have log lines: then their events are recorded, too."""
    return logger.isEnabledFor(logging.DEBUG)


def _begin_or_end(*, is_wanted: bool, is_placed: bool) -> None:
    if is_wanted and not is_placed:
        queries.log_begin()
    elif is_placed and not is_wanted:
        LogPosition.objects.all().delete()


def _write(line: Line) -> None:
    record = logger.makeRecord(
        logger.name, line.level, "", 0, line.name, (), None, extra=dict(line.facts)
    )
    record.created = line.at.timestamp()  # the time of the event
    record.msecs = line.at.microsecond // 1000
    logger.handle(record)
