"""The figures of a series as a Markdown table."""

from collections.abc import Iterator, Sequence

from bench.scale.measure import Curve

PARTS = ("HTTP", "PostgreSQL", "loops", "PgBouncer")  # in the order of the pictures


def table(title: str, axis: str, curves: Sequence[Curve]) -> Iterator[str]:
    """Yield the lines: a row for each path and point."""
    parts = [part for part in PARTS if any(part in _parts(curve) for curve in curves)]
    yield f"### {title}"
    yield ""
    head = ["path", axis, "rate/s", "of base", "min-max", "CPU us", *parts, "client"]
    yield row(head)
    yield row(["---", *["---:"] * (len(head) - 1)])
    for curve in curves:
        for n, label in enumerate(curve.labels):
            yield row([curve.title if not n else "", label, *_figures(curve, n, parts)])
    yield ""


def _figures(curve: Curve, point: int, parts: Sequence[str]) -> Iterator[str]:
    middle, least, greatest = curve.ratios(point)
    cpu = curve.cpu_us(point)
    yield f"{curve.rate(point):,.0f}"
    yield f"{middle:.2f}"
    yield f"{least:.2f}-{greatest:.2f}"
    yield f"{sum(cpu.values()):,.0f}"
    yield from (f"{cpu.get(part, 0.0):,.0f}" for part in parts)
    yield f"{curve.client(point):.0%}"


def _parts(curve: Curve) -> set[str]:
    return {part for n in range(len(curve.labels)) for part in curve.cpu_us(n)}


def row(cells: Sequence[str]) -> str:
    """Return one line of the table."""
    return f"| {' | '.join(cells)} |"
