"""Write the log lines of jobs and workers. Spec: contract 32.5; see docs/adr/0021.

One loop writes them from the event record; a request writes none. The loop writes lines before it
stores its position. So an event can have two lines after a crash, and no event lacks its line.
"""

import logging
from collections.abc import Sequence

from jobs import queries
from jobs.conf import conf
from jobs.domain.record.loglines import THINNED, Line, line_of, wanted_kinds
from jobs.models import LogPosition, LoopTick

logger = logging.getLogger("ojs.lifecycle")

LOOP = "log"
BATCH = 4_000
ABSENT_MS = 600_000  # after so long without a run, retention no longer waits for the loop


def log(batch: int = BATCH) -> int:
    """Write the lines of one batch of events; returns how many were read.

    The first call only sets the start. If the log level excludes all lines, the position is
    deleted.
    """
    kinds = wanted_kinds(logger.isEnabledFor)
    position = queries.log_position()
    if not kinds or position is None:
        _begin_or_end(is_wanted=bool(kinds), is_placed=position is not None)
        return 0
    params = {"kinds": kinds, "thinned": list(THINNED), "sample": conf().log_sample}
    read = queries.recorded(position, params, batch)
    if read is None:
        return 0
    _write([line for event in read.events if (line := line_of(event)) is not None])
    # nothing is locked while lines are written: their reader may be slow
    queries.log_reached(position, queries.LogPlace(read.stamp, read.seq))
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


def _write(lines: Sequence[Line]) -> None:
    handlers = [] if logger.filters or logger.disabled else _handlers(logger)
    if not handlers:
        for line in lines:
            logger.handle(_record(line))
        return
    for handler in handlers:
        write_lines = getattr(handler, "write_lines", None)  # of ojs_project/logs.py
        if write_lines is None or not write_lines(logger.name, lines):
            for record in map(_record, lines):
                if record.levelno >= handler.level:
                    handler.handle(record)


def _handlers(of: logging.Logger) -> list[logging.Handler]:
    """Return the handlers that `Logger.callHandlers` would call."""
    above = of.parent if of.propagate else None
    return [*of.handlers, *(_handlers(above) if above is not None else ())]


def _record(line: Line) -> logging.LogRecord:
    record = logger.makeRecord(
        logger.name, line.level, "", 0, line.name, (), None, extra=dict(line.facts)
    )
    record.created = line.at.timestamp()  # the time of the event
    record.msecs = line.at.microsecond // 1000
    return record
