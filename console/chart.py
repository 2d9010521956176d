"""The last hour as bars: geometry for an SVG, no markup."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.queries import MinuteCounts

MINUTES, WIDTH, HEIGHT = 60, 600, 120
STEP = WIDTH // MINUTES
STEPS = (1, 2, 5)  # nice ends of the scale: these times a power of ten


@dataclass(frozen=True, slots=True)
class Bar:
    """One minute: failed attempts stacked on completed jobs; pixels from the top left."""

    x: int
    label: str
    completed: int
    failed: int
    enqueued: int
    completed_y: float
    completed_height: float
    failed_y: float
    failed_height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars of the last hour and the line of what came in."""

    bars: list[Bar]
    line: str  # points of the jobs enqueued
    top: int  # value at the upper edge
    completed: int
    failed: int
    enqueued: int
    width: int = WIDTH
    height: int = HEIGHT
    bar_width: int = STEP - 2


def chart(counts: Sequence[MinuteCounts], now: datetime) -> Chart:
    """Lay out the hour that ends with `now`, its last minute still growing."""
    by_minute = {count.minute: count for count in counts}
    last = now.replace(second=0, microsecond=0)
    minutes = [last - timedelta(minutes=back) for back in reversed(range(MINUTES))]
    filled = [by_minute.get(minute) or MinuteCounts(minute, 0, 0, 0) for minute in minutes]
    top = _nice(max(max(c.completed + c.failed, c.enqueued) for c in filled))
    bars = [_bar(place, count, HEIGHT / top) for place, count in enumerate(filled)]
    line = " ".join(
        f"{bar.x + STEP / 2 - 1:g},{HEIGHT - bar.enqueued * HEIGHT / top:.1f}" for bar in bars
    )
    return Chart(
        bars=bars,
        line=line,
        top=top,
        completed=sum(bar.completed for bar in bars),
        failed=sum(bar.failed for bar in bars),
        enqueued=sum(bar.enqueued for bar in bars),
    )


def _bar(place: int, count: MinuteCounts, scale: float) -> Bar:
    completed, failed = count.completed * scale, count.failed * scale
    return Bar(
        x=place * STEP,
        label=f"{count.minute:%H:%M}",
        completed=count.completed,
        failed=count.failed,
        enqueued=count.enqueued,
        completed_y=round(HEIGHT - completed, 1),
        completed_height=round(completed, 1),
        failed_y=round(HEIGHT - completed - failed, 1),
        failed_height=round(failed, 1),
    )


def _nice(value: int) -> int:
    """Return the smallest 1, 2 or 5 times a power of ten that is not below `value`."""
    power = 1
    while True:
        for step in STEPS:
            if step * power >= value:
                return step * power
        power *= 10
