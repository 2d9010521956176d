"""The tables on the terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.codecs import Cost
from bench.late import Late
from bench.memory import HTTP, Peaks
from bench.slices import BAR_CLIENTS, Row, percentile
from bench.wake import Wakes

HISTORY_BAR = 0.90  # of the rate without a history
HTTP_BAR_MIB = 150
WAKE_BAR_MS = 25
LATE_BAR_MS = 1000
CODEC_BAR_US = 30
BUSY = 0.7  # of a core: above it, the client may be the bottleneck

COLUMNS = (
    f"{'path':33} {'clients':>7} {'dataset':>18} {'jobs/s':>8} {'limit/s':>8} {'against':>7}"
    f" {'ratio':>6} {'min-max':>9} {'bar':>5} {'':5}"
)
HEAD = (
    COLUMNS + f" {'cpu us':>7} {'limit':>6} {'ratio':>6} {'p50 ms':>7} {'p99 ms':>7} {'client':>6}"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bar and the measured value."""

    title: str
    found: str
    bar: str
    is_met: bool

    def __str__(self) -> str:
        """Return a line of the last table."""
        return f"{self.title:68} {self.found:>16} {self.bar:>12}  {word(is_met=self.is_met)}"


def word(*, is_met: bool) -> str:
    """Return the word for a met or a missed bar."""
    return "ok" if is_met else "BELOW"


def line(row: Row) -> str:
    """Return the line of a row; `client` is the share of a core that the HTTP client took."""
    verdict = "" if row.bar is None else word(is_met=not row.is_below)
    bar = "" if row.bar is None else f"{row.bar:.0%}"
    spread = f"{row.ratios[0]:.0%}-{row.ratios[-1]:.0%}" if row.ratios else ""
    busy = "!" if row.client_share > BUSY else ""
    return (
        f"{row.path.title:33} {row.clients:7} {row.dataset:>18} {row.rate:8,.0f} {row.limit:8,.0f}"
        f" {row.path.against:>7} {row.ratio:6.1%} {spread:>9} {bar:>5} {verdict:5}"
        f" {row.cpu_us:7.0f} {row.limit_cpu_us:6.0f} {row.cpu_ratio:6.1%}"
        f" {_ms(row.late_ms(0.50)):>7} {_ms(row.late_ms(0.99)):>7} {row.client_share:5.0%}{busy}"
    )


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def of_rows(rows: Sequence[Row]) -> Iterator[Verdict]:
    """Compare rows with the bars."""
    for row in rows:
        if row.bar is not None:
            title = f"{row.path.title}, {row.dataset}, ratio to {row.path.against}"
            found = f"{row.ratio:.0%} (CPU {row.cpu_ratio:.0%})"
            yield Verdict(title, found, f">= {row.bar:.0%}", not row.is_below)
        if (least := row.path.least) and row.clients == BAR_CLIENTS:
            title = f"{row.path.title}, {row.dataset}, jobs/s"
            yield Verdict(title, f"{row.rate:,.0f}", f">= {least:,.0f}", row.rate >= least)


def of_history(rows: Sequence[Row]) -> Iterator[Verdict]:
    """Compare rates with a history and without."""
    empty = {row.path.name: row for row in rows if row.dataset == "empty" and _counts(row)}
    for row in rows:
        other = empty.get(row.path.name)
        if row.dataset == "empty" or other is None or not other.rate or not _counts(row):
            continue
        ratio = _median_ratio(row, other)
        title = f"{row.path.title}, {row.dataset} against empty"
        yield Verdict(title, f"{ratio:.1%}", f">= {HISTORY_BAR:.0%}", ratio >= HISTORY_BAR)


def _counts(row: Row) -> bool:
    return row.clients == BAR_CLIENTS and not row.path.holds_snapshot


def _median_ratio(row: Row, other: Row) -> float:
    # slice by slice, as they were measured next to each other
    pairs = zip(row.served, other.served, strict=True)
    return percentile([a.rate / b.rate for a, b in pairs if b.rate], 0.5) or 0.0


def of_wake(wakes: Wakes) -> Verdict:
    """Compare the latency of an idle server with its bar."""
    p99 = percentile(wakes.jobs, 0.99) or 0.0
    title = f"enqueue to handler start on an idle server, p99 ms of {len(wakes.jobs)}"
    return Verdict(title, f"{p99:.1f}", f"< {WAKE_BAR_MS}", p99 < WAKE_BAR_MS)


def of_late(late: Late) -> Iterator[Verdict]:
    """Compare the worst lateness with its bar; a missing job counts as infinitely late."""
    for name, found, wanted in (
        (f"{late.due:,} scheduled jobs", late.jobs, late.due),
        (f"{late.ticking:,} schedules", late.ticks, late.ticking),
    ):
        worst = max(found) if len(found) >= wanted else float("inf")
        title = f"{name} among {late.waiting:,} waiting, most ms late"
        yield Verdict(title, f"{worst:.0f}", f"< {LATE_BAR_MS}", worst < LATE_BAR_MS)


def late_line(late: Late) -> str:
    """Return the line of the lateness."""
    return "\n".join(
        f"ms late, {name}: {_of(values)}, max {max(values, default=0):.1f} of {len(values):,}"
        for name, values in (("scheduled jobs", late.jobs), ("ticks of schedules", late.ticks))
    )


def of_codecs(costs: Sequence[Cost]) -> Iterator[Verdict]:
    """Compare the cost of codecs with its bar."""
    for one in costs:
        title = f"encode and decode 1 KB, {one.codecs}, us of CPU (arguments of a job)"
        found = f"{one.bytes_us:.1f} ({one.job_us:.1f})"
        yield Verdict(title, found, f"< {CODEC_BAR_US}", one.bytes_us < CODEC_BAR_US)


def wakes_line(wakes: Wakes) -> str:
    """Return the line of the latency next to the latency of NOTIFY alone."""
    found = [f"{name}: {_of(values)}" for name, values in
             (("enqueue to handler start", wakes.jobs), ("NOTIFY alone", wakes.alone))]  # fmt: skip
    return f"idle server, ms: {'; '.join(found)}"


def _of(values: Sequence[float]) -> str:
    return f"p50 {percentile(values, 0.5) or 0:.1f}, p99 {percentile(values, 0.99) or 0:.1f}"


def of_memory(peaks: Peaks) -> Iterator[Verdict]:
    """Compare HTTP processes with their bar."""
    for largest in peaks.of(HTTP)[:1]:
        is_met = largest.rss_mib < HTTP_BAR_MIB
        yield Verdict(
            "RSS MiB of the largest HTTP process", f"{largest.rss_mib:.0f}", f"< {HTTP_BAR_MIB}",
            is_met,
        )  # fmt: skip


def memory(peaks: Peaks) -> list[str]:
    """Return a line per role; RSS counts shared memory in full, PSS by share."""
    lines = [f"{'RSS MiB':>8} {'PSS MiB':>8}  of the largest process"]
    for role in peaks.roles():
        found = peaks.of(role)
        pss = "" if found[0].pss_mib is None else f"{found[0].pss_mib:.0f}"
        lines.append(f"{found[0].rss_mib:8.0f} {pss:>8}  {role} ({len(found)} seen)")
    return lines
