"""Samples over time as SVG that is readable on a light and on a dark page."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from bench.scale.axis import HEIGHT, WIDTH, ticks, up
from bench.scale.picture import BOTTOM, HEAD, LEFT, RIGHT, STYLE, TOP
from bench.soak.watch import Sample

COLUMNS = 2
NAMES_Y = HEIGHT + 48
Lines = Mapping[str, Sequence[float]]


def plot(title: str, samples: Sequence[Sample]) -> str:
    """Return the SVG: memory, sizes, jobs and latencies."""
    minutes = [one.minute for one in samples]
    panels = [_panel(name, minutes, lines) for name, lines in _panels(samples)]
    width, height = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    rows = -(-len(panels) // COLUMNS)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * COLUMNS}'
        f' {HEAD + height * rows}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        '<rect class="back" width="100%" height="100%"/>',
        f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>',
        *(
            f'<g transform="translate({LEFT + n % COLUMNS * width}'
            f' {HEAD + TOP + n // COLUMNS * height})">\n' + "\n".join(panel) + "\n</g>"
            for n, panel in enumerate(panels)
        ),
        "</svg>\n",
    ])  # fmt: skip


def _panels(samples: Sequence[Sample]) -> Iterator[tuple[str, Lines]]:
    roles = ("HTTP process", "loops", "worker process")
    yield (
        "memory of the largest process, MiB",
        {role: [one.memory.get(role, 0.0) for one in samples] for role in roles},
    )
    yield (
        "sizes, MiB",
        {"tables": [one.tables for one in samples], "indexes": [one.indexes for one in samples]},
    )
    yield (
        "latency, median, ms",
        {
            "enqueue": [one.enqueue[0] for one in samples],
            "enqueue to start": [one.start[0] for one in samples],
        },
    )
    yield (
        "stored jobs, thousands",
        {
            "all": [one.jobs / 1e3 for one in samples],
            "not ended": [one.live / 1e3 for one in samples],
        },
    )


def _panel(name: str, minutes: Sequence[float], lines: Lines) -> Iterator[str]:
    scale = ticks(max(value for values in lines.values() for value in values))
    times = ticks(minutes[-1])
    yield f'<text class="panel" x="0" y="-12">{escape(name)}</text>'
    for value in scale:
        y = up(value, scale)
        yield f'<line class="grid" x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="end" x="-5" y="{y + 4:.1f}">{value:,g}</text>'
    for minute in times:
        x = minute / times[-1] * WIDTH
        yield f'<text class="mid" x="{x:.1f}" y="{HEIGHT + 15}">{minute:g}</text>'
    yield f'<text class="mid" x="{WIDTH / 2:.0f}" y="{HEIGHT + 30}">minutes</text>'
    for color, (line, values) in enumerate(lines.items()):
        points = " ".join(
            f"{minute / times[-1] * WIDTH:.1f},{up(value, scale):.1f}"
            for minute, value in zip(minutes, values, strict=True)
        )
        x = color * WIDTH // len(lines)
        yield f'<polyline class="line" stroke="var(--c{color})" points="{points}"/>'
        yield f'<rect x="{x}" y="{NAMES_Y - 8}" width="9" height="9" fill="var(--c{color})"/>'
        yield f'<text x="{x + 13}" y="{NAMES_Y}">{escape(line)}</text>'
