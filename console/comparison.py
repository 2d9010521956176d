"""Before and after as bars, two for each queue or tenant: geometry for an SVG, no markup."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from console.templatetags.ojs import span

MOST = 20  # rows of a chart; the table has all
WIDTH, ROW, BAR = 640, 46, 14
LEFT, RIGHT = 150, 540  # where bars begin, and where the longest ends
LABEL = 20  # characters


@dataclass(frozen=True, slots=True)
class Bar:
    """One value; pixels from the top left."""

    kind: str  # before or after
    y: int
    width: float
    text: str
    text_x: float


@dataclass(frozen=True, slots=True)
class Row:
    """A queue or tenant with its bars."""

    name: str
    label: str
    y: int
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class Bars:
    """One chart."""

    title: str
    rows: list[Row]
    height: int
    width: int = WIDTH
    left: int = LEFT
    bar_height: int = BAR


@dataclass(frozen=True, slots=True)
class Group:
    """What a page shows of queues, or of tenants; lines have (name, before, after)."""

    title: str
    charts: list[Bars]
    lines: list[tuple[str, dict[str, Any], dict[str, Any] | None]]


def groups(found: Mapping[str, Any]) -> list[Group]:
    """Lay out what came out of a simulation, those with the most jobs first."""
    return [_group(found, kind) for kind in ("queues", "tenants")]


def _group(found: Mapping[str, Any], kind: str) -> Group:
    before, after = found["before"][kind], (found["after"] or {}).get(kind)
    names = sorted(before, key=lambda name: (-before[name]["jobs"], name))
    sides = {"before": before} | ({"after": after} if after else {})
    shown = names[:MOST]
    return Group(
        kind.capitalize(),
        [
            _bars("Share of starts", shown, sides, "share"),
            _bars("Wait, 95th percentile", shown, sides, "p95_ms"),
        ],
        [(name, before[name], after and after[name]) for name in names],
    )


def _bars(title: str, names: list[str], sides: Mapping[str, Any], member: str) -> Bars:
    top = max((side[name][member] for side in sides.values() for name in names), default=0) or 1
    rows = []
    for n, name in enumerate(names):
        bars = []
        for place, (kind, side) in enumerate(sides.items()):
            value = side[name][member]
            width = round(max(1.0, value / top * (RIGHT - LEFT)), 1)
            text = f"{value:.1%}" if member == "share" else span(value)
            bars.append(Bar(kind, n * ROW + 4 + place * (BAR + 3), width, text, LEFT + width + 6))
        label = name if len(name) <= LABEL else f"{name[: LABEL - 1]}…"
        rows.append(Row(name, label, n * ROW + 4 + BAR + 4, bars))
    return Bars(title, rows, max(1, len(names)) * ROW)
