"""The panels of a picture: CPU of one path as stacked bars, and the rates of all paths as lines."""

from collections.abc import Iterator, Sequence
from html import escape

from bench.scale.axis import HEIGHT, WIDTH, across, frame, ticks, up
from bench.scale.measure import Curve
from bench.scale.table import PARTS

BAR = 0.6  # width of a bar, as a share of its place
ROOM = 1.05  # for the sum above the highest bar
CUT = 1.5  # whiskers are cut above this multiple of the highest median
APART = 5  # pixels between the whiskers of two paths
NAMES_Y, NAME_HEIGHT = HEIGHT + 52, 16  # of the names below the axis
NAME_WIDTH = 168  # of a name; two stand beside each other
MARKS = (  # a shape for each path
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
    "M-4,-4h8v8h-8z",
    "M0,-5l5,9h-10z",
    "M0,-5l5,5l-5,5l-5,-5z",
)
Ratio = tuple[float, float, float]


def bars(curve: Curve, axis: str) -> Iterator[str]:
    """Yield CPU microseconds per job or request by part; the sum stands above each bar."""
    points = range(len(curve.labels))
    scale = ticks(ROOM * max(sum(curve.cpu_us(n).values()) for n in points))
    yield from frame(f"{curve.title}: CPU, µs per {curve.unit}", axis, curve.labels, scale)
    for n in points:
        cpu_us, x = curve.cpu_us(n), across(n, len(points))
        yield from _bar(cpu_us, x, BAR * WIDTH / len(points), scale)
        total = sum(cpu_us.values())
        yield f'<text class="mid" x="{x:.1f}" y="{up(total, scale) - 4:.1f}">{total:,.0f}</text>'


def _bar(cpu_us: dict[str, float], x: float, width: float, scale: Sequence[float]) -> Iterator[str]:
    total = 0.0
    for color, part in enumerate(PARTS):
        value = cpu_us.get(part, 0.0)
        total += value
        yield (
            f'<rect x="{x - width / 2:.1f}" y="{up(total, scale):.1f}" width="{width:.1f}"'
            f' height="{HEIGHT - up(value, scale):.1f}" fill="var(--c{color})">'
            f"<title>{part}: {value:,.0f} µs</title></rect>"
        )


def rates(curves: Sequence[Curve], axis: str) -> Iterator[str]:
    """Yield the rates relative to the base: medians as marks, ranges as whiskers."""
    labels = curves[0].labels
    found = [[curve.ratios(n) for n in range(len(labels))] for curve in curves]
    middle = max(one[0] for ratios in found for one in ratios)
    greatest = max(one[2] for ratios in found for one in ratios)
    scale = ticks(min(greatest, CUT * middle))
    yield from frame("rate relative to the base: median, min-max", axis, labels, scale)
    one = up(1, scale)
    yield f'<line class="one" x1="0" x2="{WIDTH}" y1="{one:.1f}" y2="{one:.1f}"/>'
    for color, (curve, ratios) in enumerate(zip(curves, found, strict=True)):
        shift = APART * (color - (len(curves) - 1) / 2)
        yield from _line(ratios, color, shift, scale)
        yield from _name(curve.title, color)


def _line(
    ratios: Sequence[Ratio], color: int, shift: float, scale: Sequence[float]
) -> Iterator[str]:
    spots = [
        (across(n, len(ratios)) + shift, *(max(0.0, up(value, scale)) for value in ratio))
        for n, ratio in enumerate(ratios)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in spots)
    yield f'<polyline class="line" stroke="var(--c{color})" points="{path}"/>'
    for x, y, low, high in spots:
        yield f'<path stroke="var(--c{color})" d="M{x:.1f},{low:.1f}V{high:.1f}"/>'
        yield _mark(color, x, y)


def _name(title: str, color: int) -> Iterator[str]:
    x, y = color % 2 * NAME_WIDTH, NAMES_Y + color // 2 * NAME_HEIGHT
    yield _mark(color, x, y)
    yield f'<text x="{x + 9:.0f}" y="{y + 4}">{escape(title)}</text>'


def _mark(color: int, x: float, y: float) -> str:
    place = f"translate({x:.1f} {y:.1f})"
    return f'<path fill="var(--c{color})" d="{MARKS[color]}" transform="{place}"/>'
