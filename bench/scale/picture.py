"""A series as SVG that is readable on a light and on a dark page."""

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil

from bench.scale.axis import HEIGHT, WIDTH
from bench.scale.measure import Curve
from bench.scale.panels import bars, rates
from bench.scale.table import PARTS

LEFT, TOP, RIGHT, BOTTOM = 48, 34, 12, 80  # around the area of a panel
HEAD = 46  # height of title and legend
MOST_COLUMNS = 3
STYLE = """
:root { --text: #24292f; --grid: #d0d7de; --back: #ffffff;
  --c0: #0969da; --c1: #1a7f37; --c2: #bf8700; --c3: #8250df; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --grid: #3d444d; --back: #0d1117;
  --c0: #58a6ff; --c1: #3fb950; --c2: #d29922; --c3: #bc8cff; } }
text { font: 11px system-ui, sans-serif; fill: var(--text); }
.title { font-size: 15px; font-weight: 600; } .panel { font-size: 12px; font-weight: 600; }
.mid { text-anchor: middle; } .end { text-anchor: end; } .base { font-weight: 600; }
.back { fill: var(--back); } .grid { stroke: var(--grid); }
.one { stroke: var(--text); stroke-dasharray: 4 3; } .line { fill: none; stroke-width: 2; }
"""


def picture(title: str, axis: str, curves: Sequence[Curve]) -> str:
    """Return the SVG: a panel with the CPU of each path, then one with all rates."""
    panels = [*(bars(curve, axis) for curve in curves), rates(curves, axis)]
    rows = ceil(len(panels) / MOST_COLUMNS)
    columns = ceil(len(panels) / rows)
    width = (WIDTH + LEFT + RIGHT) * columns
    height = HEAD + (HEIGHT + TOP + BOTTOM) * rows
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        '<rect class="back" width="100%" height="100%"/>',
        f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>',
        *_legend(curves),
        *(_placed(*divmod(n, columns), panel) for n, panel in enumerate(panels)),
        "</svg>\n",
    ])  # fmt: skip


def _placed(row: int, column: int, panel: Iterator[str]) -> str:
    x = LEFT + column * (WIDTH + LEFT + RIGHT)
    y = HEAD + TOP + row * (HEIGHT + TOP + BOTTOM)
    inside = "\n".join(panel)
    return f'<g transform="translate({x} {y})">\n{inside}\n</g>'


def _legend(curves: Sequence[Curve]) -> Iterator[str]:
    x = float(LEFT)
    for color, part in enumerate(PARTS):
        if any(part in curve.cpu_us(n) for curve in curves for n in range(len(curve.labels))):
            yield f'<rect x="{x:.0f}" y="34" width="9" height="9" fill="var(--c{color})"/>'
            yield f'<text x="{x + 13:.0f}" y="43">{part}</text>'
            x += 30 + 6.2 * len(part)
