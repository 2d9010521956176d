"""The area of one panel in SVG: round ticks, positions, grid and labels."""

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, log10

WIDTH, HEIGHT = 300, 170  # of the area, in pixels
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
CLOSE = 1e-9  # relative error of a division that must not add a tick


def ticks(top: float, most: int = 5) -> list[float]:
    """Return round values from 0 that reach `top`, at most `most` above 0."""
    if top <= 0:
        return [0.0, 1.0]
    power = 10.0 ** (ceil(log10(top / most)) - 1)
    step = next(power * one for one in STEPS if power * one * most >= top * (1 - CLOSE))
    return [round(n * step, 10) for n in range(ceil(top / step - CLOSE) + 1)]


def across(point: int, points: int) -> float:
    """Return the x of a point: all have the same distance, whatever their sizes."""
    return WIDTH * (point + 0.5) / points


def up(value: float, scale: Sequence[float]) -> float:
    """Return the y of a value."""
    return HEIGHT - value / scale[-1] * HEIGHT


def frame(title: str, axis: str, labels: Sequence[str], scale: Sequence[float]) -> Iterator[str]:
    """Yield title, grid, ticks and labels; the first point is marked as the base."""
    yield f'<text class="panel" x="0" y="-12">{escape(title)}</text>'
    for value in scale:
        y = up(value, scale)
        yield f'<line class="grid" x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="end" x="-5" y="{y + 4:.1f}">{value:,g}</text>'
    for n, label in enumerate(labels):
        mark, kind = ("", "mid") if n else (" (base)", "mid base")
        x = across(n, len(labels))
        yield f'<text class="{kind}" x="{x:.1f}" y="{HEIGHT + 15}">{escape(label)}{mark}</text>'
    yield f'<text class="mid" x="{WIDTH / 2:.0f}" y="{HEIGHT + 33}">{escape(axis)}</text>'
