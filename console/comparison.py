"""What came out of a simulation, before and after, as its page shows it: charts and lines.

The charts are drawn by uPlot (`static/ojs/charts.js`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST = 20  # names of a chart; the table has all
ROW, AXIS = 46, 36  # pixels of a name with its bars, and below them
MEASURES = (("Share of starts", "share"), ("Wait, 95th percentile", "p95_ms"))


@dataclass(frozen=True, slots=True)
class Group:
    """What a page shows of queues, or of tenants; lines have (name, before, after)."""

    title: str
    charts: list[dict[str, Any]]
    lines: list[tuple[str, dict[str, Any], dict[str, Any] | None]]


def groups(found: Mapping[str, Any]) -> list[Group]:
    """Lay out what came out of a simulation, those with the most jobs first."""
    return [_group(found, kind) for kind in ("queues", "tenants")]


def _group(found: Mapping[str, Any], kind: str) -> Group:
    before, after = found["before"][kind], (found["after"] or {}).get(kind)
    names = sorted(before, key=lambda name: (-before[name]["jobs"], name))
    sides = {"before": before} | ({"after": after} if after else {})
    return Group(
        kind.capitalize(),
        [_chart(title, names[:MOST], sides, member) for title, member in MEASURES],
        [(name, before[name], after and after[name]) for name in names],
    )


def _chart(title: str, names: list[str], sides: Mapping[str, Any], member: str) -> dict[str, Any]:
    return {
        "title": title,
        "unit": member,
        "names": names,
        "height": max(1, len(names)) * ROW + AXIS,
        "series": [
            {"kind": side, "label": side, "values": [rows[name][member] for name in names]}
            for side, rows in sides.items()
        ],
    }
