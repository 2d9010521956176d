"""The table of pages."""

from collections.abc import Iterator, Sequence

from bench.console.measure import MOST_MS, MOST_STATEMENTS, Found

HEAD = f"{'page':18} {'':44} {'statements':>10} {'first ms':>9} {'median ms':>9} {'least ms':>9}"
SHOWN = 600  # characters of a statement


def line(found: Found) -> str:
    """Return the line of one page."""
    mark = "" if found.is_within else "  ABOVE"
    return (
        f"{found.ask.page:18} {found.ask.note[:44]:44} {found.statements:10} {found.first_ms:9.0f}"
        f" {found.ms:9.0f} {found.least_ms:9.0f}{mark}"
    )


def conclusion(found: Sequence[Found]) -> Iterator[str]:
    """Sum up, with the slowest statements of slow pages."""
    above = [one for one in found if not one.is_within]
    for one in above:
        text = " ".join(one.slowest.split())
        yield f"{one.ask.path}: {one.statements} statements, the slowest {text[:SHOWN]}\n"
    pages = len({one.ask.page for one in found})
    bounds = f"{MOST_MS:.0f} ms and {MOST_STATEMENTS} statements"
    yield f"{pages} pages, {len(found)} requests, {len(above)} above {bounds}"
