"""The result of a simulation, before and after, as charts and lines of its page.

uPlot draws the charts (`static/ojs/charts.js`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from console.templatetags.ojs import tenant_name

MOST = 20  # names in a chart; the table has all
ROW, AXIS = 46, 36  # height in pixels of a name with its bars, and of the axis
MEASURES = (("Share of starts", "share"), ("Wait, 95th percentile", "p95_ms"))


@dataclass(frozen=True, slots=True)
class Group:
    """The results for queues, or for tenants; lines have (name, before, after)."""

    title: str
    charts: list[dict[str, Any]]
    lines: list[tuple[str, dict[str, Any], dict[str, Any] | None]]


def groups(found: Mapping[str, Any]) -> list[Group]:
    """Arrange the results of a simulation, the names with the most jobs first."""
    return [_group(found, kind) for kind in ("queues", "tenants")]


def _group(found: Mapping[str, Any], kind: str) -> Group:
    before, after = found["before"][kind], (found["after"] or {}).get(kind)
    names = sorted(before, key=lambda name: (-before[name]["jobs"], name))
    sides = {"before": before} | ({"after": after} if after else {})
    labels = {name: tenant_name(name) if kind == "tenants" else name for name in names}
    some = dict(islice(labels.items(), MOST))
    return Group(
        kind.capitalize(),
        [_chart(title, some, sides, member) for title, member in MEASURES],
        [(labels[name], before[name], after and after[name]) for name in names],
    )


def _chart(
    title: str, names: Mapping[str, str], sides: Mapping[str, Any], member: str
) -> dict[str, Any]:
    return {
        "title": title,
        "unit": member,
        "names": list(names.values()),
        "height": max(1, len(names)) * ROW + AXIS,
        "series": [
            {"kind": side, "label": side, "values": [rows[name][member] for name in names]}
            for side, rows in sides.items()
        ],
    }
