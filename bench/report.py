"""The tables on the terminal."""

from collections.abc import Sequence

from bench.memory import Usage
from bench.slices import BAR_CLIENTS, Row
from ojs_project.postgres import bin_dir

HISTORY_BAR = 0.90  # of the rate without a history
COMMAND_WIDTH = 90
DATABASE = ("postgres:", str(bin_dir() / "postgres"))

HEAD = (
    f"{'path':36} {'clients':>7} {'dataset':>18} {'rate/s':>9} {'limit/s':>9} {'ratio':>6}"
    f" {'bar':>5} {'':5} {'cpu us':>7} {'limit':>6} {'ratio':>6} {'p50 ms':>8} {'p99 ms':>8} {'client':>6}"
)


def line(row: Row) -> str:
    """Write one measured row; `client` is the share of a core that the HTTP client took."""
    verdict = "" if row.bar is None else "below" if row.is_below else "ok"
    bar = "" if row.bar is None else f"{row.bar:.0%}"
    return (
        f"{row.path.title:36} {row.clients:7} {row.dataset:>18} {row.rate:9,.0f}"
        f" {row.limit:9,.0f} {row.ratio:6.1%} {bar:>5} {verdict:5} {row.cpu_us:7.0f} {row.limit_cpu_us:6.0f}"
        f" {row.cpu_ratio:6.1%} {_ms(row.p50_ms):>8}"
        f" {_ms(row.p99_ms):>8} {row.client_cpu:6.0%}"
    )


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def history(rows: Sequence[Row]) -> list[tuple[str, float, bool]]:
    """Compare rates with a history and without, per path: (text, ratio, whether it is below)."""
    found = []
    empty = {(row.path.name, row.clients): row for row in rows if row.dataset == "empty"}
    for row in rows:
        other = empty.get((row.path.name, row.clients))
        if row.dataset == "empty" or other is None or not other.rate or not row.path.is_repeated:
            continue
        ratio = row.rate / other.rate
        is_below = ratio < HISTORY_BAR and row.clients == BAR_CLIENTS
        verdict = "below" if is_below else "ok"
        text = (
            f"{row.path.title:36} {row.clients:7} {row.dataset:>18} vs empty: {ratio:6.1%}"
            f" {HISTORY_BAR:.0%} {verdict}"
        )
        found.append((text, ratio, is_below))
    return found


def memory(processes: Sequence[Usage]) -> list[str]:
    """Write one line per process, the largest first; the database's in one, which share memory."""
    database = [item for item in processes if item.command.startswith(DATABASE)]
    own = [item for item in processes if not item.command.startswith(DATABASE)]
    pss = [item.pss_mib for item in database if item.pss_mib is not None]
    together = f"PostgreSQL, {len(database)} processes, the largest RSS and the PSS of all"
    largest = max((item.rss_mib for item in database), default=0.0)
    summed = Usage(0, together, largest, sum(pss) if len(pss) == len(database) else None)
    ordered = sorted([*own, summed], key=lambda usage: -usage.rss_mib)
    return [f"{'RSS MiB':>8} {'PSS MiB':>8}  process", *map(_memory_line, ordered)]


def _memory_line(item: Usage) -> str:
    pss = "" if item.pss_mib is None else f"{item.pss_mib:.0f}"
    return f"{item.rss_mib:8.0f} {pss:>8}  {item.command[-COMMAND_WIDTH:]}"
