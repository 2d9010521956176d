"""The dead letter by failure: jobs with equal errors form a group, with a trend.

Only the latest LOOKED dead jobs are read, so the cost of a page has a bound. The page shows how far
back they reach. uPlot draws the trend (`static/ojs/charts.js`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from console import queries
from console.columns import error_of
from console.filters import JobFilter
from jobs.models import DEFAULT_TENANT
from jobs.services.read.find import pattern
from jobs.services.read.show import show_many

LOOKED = 4_000  # latest dead jobs that are read
SHOWN = 25  # groups
DRAWN = 5  # groups with a line of their own in the chart
BINS = 48  # of a trend, at most
NAMED = 3  # tenants, queues, versions of a group
FRESH: Final = timedelta(hours=1)
WIDTHS: Final = (60, 300, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 7 * 86_400, 30 * 86_400)


@dataclass(slots=True)
class Group:
    """Dead jobs with equal errors; `trend` has the number of deaths in each bin."""

    fingerprint: str
    type: str
    error_type: str
    newest: str  # id of the job that died last
    first_at: datetime
    last_at: datetime
    jobs: int = 0
    lately: int = 0  # in the last hour
    tenants: Counter[str] = field(default_factory=Counter)
    queues: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    trend: list[int] = field(default_factory=list)
    message: str = ""
    is_new: bool = False  # no such error before the last hour

    @property
    def hit(self) -> list[tuple[str, int]]:
        """Return the tenants with the most jobs of the group; empty if no job has a tenant."""
        if not self.tenants.keys() - {DEFAULT_TENANT}:
            return []
        return self.tenants.most_common(NAMED)

    @property
    def further(self) -> int:
        """Return how many more tenants have jobs of the group."""
        return max(0, len(self.tenants) - NAMED)

    @property
    def spread(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """Return the queues and versions with the most jobs of the group, without empty lists."""
        named = (("Queues", self.queues), ("Versions", self.versions))
        return [(label, counts.most_common(NAMED)) for label, counts in named if counts]


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups, the largest first; `looked` jobs were read, as far back as `back_to`."""

    groups: list[Group]
    number: int  # of groups, including groups that are not shown
    jobs: int
    looked: int
    back_to: datetime | None
    is_partial: bool  # older dead jobs may exist
    bins: list[datetime]  # the start of each bin

    def chart(self) -> dict[str, Any]:
        """Return the chart's data: bins in Unix seconds, and the lines of the largest groups."""
        drawn = self.groups[:DRAWN]
        return {
            "at": [int(at.timestamp()) for at in self.bins],
            "lines": [{"label": g.error_type or g.type, "jobs": g.trend} for g in drawn],
        }


def groups(asked: JobFilter, now: datetime) -> Groups:
    """Group the latest dead jobs of a queue, tenant and type; two statements."""
    rows = queries.dead(
        queue=asked.queue or None,
        tenant=asked.tenant or None,
        type=(asked.type and pattern(asked.type)) or None,
        fingerprint=asked.fingerprint or None,
        looked=LOOKED,
    )
    bins = _bins([row.at for row in rows], now)
    sizes = Counter(row.fingerprint for row in rows)
    largest = dict.fromkeys(sorted(sizes, key=lambda name: (-sizes[name], name))[:SHOWN])
    found = _grouped((row for row in rows if row.fingerprint in largest), bins, now)
    shown = [found[name] for name in largest]
    is_partial = bool(rows) and rows[0].looked >= LOOKED
    messages = {job.id: error_of(job) for job in show_many([group.newest for group in shown])}
    for group in shown:
        group.message = messages.get(group.newest) or ""
        reach = now - rows[-1].back_to  # older errors in this period would have been read
        group.is_new = now - group.first_at < FRESH and (not is_partial or reach > 2 * FRESH)
    return Groups(
        shown, len(sizes), len(rows), rows[0].looked if rows else 0,
        rows[0].back_to if rows else None, is_partial, bins,
    )  # fmt: skip


def _grouped(
    rows: Iterable[queries.Dead], bins: Sequence[datetime], now: datetime
) -> dict[str, Group]:
    found: dict[str, Group] = {}
    oldest: dict[str, float] = {}
    begin, fresh = bins[0].timestamp(), (now - FRESH).timestamp()
    width = (bins[1] - bins[0]).total_seconds() if len(bins) > 1 else 1.0
    for row in rows:  # latest first
        group = found.get(row.fingerprint)
        if group is None:
            last_at = datetime.fromtimestamp(row.at, now.tzinfo)
            group = found[row.fingerprint] = Group(
                row.fingerprint, row.type, row.error_type or "", row.id, last_at, last_at,
                trend=[0] * len(bins),
            )  # fmt: skip
        oldest[row.fingerprint] = row.at
        group.jobs += 1
        group.lately += row.at > fresh
        group.tenants[row.tenant] += 1
        group.queues[row.queue] += 1
        if row.version is not None:
            group.versions[row.version] += 1
        group.trend[min(len(bins) - 1, max(0, int((row.at - begin) // width)))] += 1
    for name, at in oldest.items():
        found[name].first_at = datetime.fromtimestamp(at, now.tzinfo)
    return found


def _bins(times: Sequence[float], now: datetime) -> list[datetime]:
    """Return the starts of the bins, of a round width; the last bin contains `now`."""
    reach = now.timestamp() - min(times) if times else 0
    width = next((w for w in WIDTHS if reach <= w * (BINS - 1)), WIDTHS[-1])
    last = int(now.timestamp()) // width * width
    number = min(BINS, max(12, int(reach // width) + 2))
    return [
        datetime.fromtimestamp(last - back * width, now.tzinfo) for back in reversed(range(number))
    ]
