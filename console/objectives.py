"""The card of a queue's objective: attainment, late starts and burn rate by window."""

from dataclasses import dataclass
from typing import Final

from jobs.domain.record.objective import Window
from jobs.domain.wire.durations import in_words
from jobs.services.record.objectives import Judged

NAMES: Final = {3_600: "1 hour", 21_600: "6 hours", 259_200: "3 days", 2_592_000: "30 days"}
NO_STARTS: Final = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Row:
    """One window, as texts."""

    name: str
    started: int
    late: int
    attainment: str
    burn_rate: str
    is_over: bool  # more late starts than permitted


@dataclass(frozen=True, slots=True)
class Shown:
    """An objective, as texts."""

    percent: str
    within: str
    budget_left: str
    is_overspent: bool
    rows: tuple[Row, ...]


def objective_shown(judged: Judged | None) -> Shown | None:
    """Return the texts of an objective; None: the queue has none."""
    if judged is None:
        return None
    left = judged.budget_left
    return Shown(
        f"{judged.objective.percent:g} %",
        in_words(judged.objective.start_within_ms),
        NO_STARTS if left is None else f"{left * 100:.0f} %",
        left is not None and left < 0,
        tuple(_row(one, judged) for one in judged.windows),
    )


def _row(window: Window, judged: Judged) -> Row:
    burned, attained = window.burn_rate(judged.objective), window.attainment
    return Row(
        NAMES[window.window_s],
        window.started,
        window.late,
        NO_STARTS if attained is None else f"{_floored(attained * 100)} %",
        NO_STARTS if burned is None else f"{burned:.1f}",
        burned is not None and burned > 1,
    )


def _floored(percent: float) -> str:
    """Round down to three decimals: 99.9999 percent must not read as 100."""
    return f"{int(percent * 1000 + 1e-6) / 1000:g}"
