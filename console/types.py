"""Job types on the pages: waits and runs from a bounded sample, tenants, workers that accept."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from typing import Final

from console import queries_over_time
from console.queries_over_time import Histograms, RunEvent, TypeWorker
from jobs.conf import conf
from jobs.domain.dispatch.claim import Declaration
from jobs.domain.job import Job
from jobs.domain.record.events import (
    RUN_BOUNDS,
    RUN_COMPLETED,
    WAIT,
    WAIT_BOUNDS,
    Kind,
)
from jobs.models import DEFAULT_TENANT
from jobs.services.read.show import show_many
from ojs_tasks.installed import has_app

LOOKED: Final = 20_000  # latest events of all types that are read for a sample
SHARES: Final = (0.5, 0.95, 0.99)
RECENT: Final = 10  # jobs
TENANTS: Final = 10
WORKERS: Final = 20
SORTS: Final = {
    "started": "starts", "failed": "failed attempts", "rate": "share of failures",
    "wait": "mean wait", "run": "mean run", "name": "name",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles in ms of waits or runs; `is_bound`: each value is an upper bound."""

    label: str
    number: int
    values: Sequence[float | None]  # of SHARES; None: above the highest bound
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """The runs of a type among the latest events; `looked` events reach back to `back_to`."""

    spreads: list[Spread] = field(default_factory=list)
    tenants: list[tuple[str, int]] = field(default_factory=list)  # starts by tenant
    recent: list[Job] = field(default_factory=list)  # by latest event
    latest: Mapping[str, datetime] = field(default_factory=dict)  # event of each recent job
    looked: int = 0
    back_to: datetime | None = None


def sample(job_type: str) -> Sample:
    """Read the latest runs of a type and their jobs; two statements."""
    events = queries_over_time.type_runs(job_type, LOOKED)
    ids = list(dict.fromkeys(event.job_id for event in events))[:RECENT]
    latest = {event.job_id: event.at for event in reversed(events) if event.job_id in ids}
    tenants = Counter(
        event.tenant or DEFAULT_TENANT for event in events if event.kind == Kind.STARTED
    )
    return Sample(
        [
            spread
            for label, kind in (("Wait", Kind.STARTED), ("Run", Kind.COMPLETED))
            if (spread := _spread(label, [e for e in events if e.kind == kind]))
        ],
        tenants.most_common(TENANTS),
        show_many(ids),
        latest,
        events[0].looked if events else 0,
        events[0].back_to if events else None,
    )


def _spread(label: str, events: Sequence[RunEvent]) -> Spread | None:
    took = sorted(event.took_ms for event in events if event.took_ms is not None)
    if not took:
        return None
    return Spread(label, len(took), [float(took[rank(share, len(took))]) for share in SHARES])


def rank(share: float, number: int) -> int:
    """Return the index of the smallest of `number` sorted values that covers a share of them."""
    return max(0, ceil(round(share * number, 6)) - 1)


def all_time(found: Histograms) -> list[Spread]:
    """Return bounds of the percentiles since the beginning, from the histograms."""
    measures = (("Wait", WAIT, WAIT_BOUNDS), ("Run", RUN_COMPLETED, RUN_BOUNDS))
    return [
        Spread(label, sum(jobs.values()), [_bound(jobs, s, bounds) for s in SHARES], is_bound=True)
        for label, measure, bounds in measures
        if (jobs := found.get(measure))
    ]


def _bound(jobs: Mapping[int, int], share: float, bounds: Sequence[float]) -> float | None:
    wanted, counted = share * sum(jobs.values()), 0
    for bucket in sorted(jobs):
        counted += jobs[bucket]
        if counted >= wanted:
            return 1000 * bounds[bucket] if bucket < len(bounds) else None
    return None


@dataclass(frozen=True, slots=True)
class Accepting:
    """Live workers that accept a type, the first WORKERS by name."""

    workers: list[TypeWorker]

    @property
    def total(self) -> int:
        """Return the number of all of them."""
        return self.workers[0].total if self.workers else 0


def accepting(job_type: str, queues: Sequence[str], declared: Iterable[Declaration]) -> Accepting:
    """Find live workers that may fetch a queue of the type and accept it; one statement.

    `declared` are the declarations of live workers.
    """
    digests, bare = _accepted(job_type, declared)
    found = queries_over_time.type_workers(
        queues, digests, conf().worker_silence_ms, WORKERS, bare=bare
    )
    return Accepting(found)


def _accepted(job_type: str, declared: Iterable[Declaration]) -> tuple[list[int], bool]:
    """Return the declarations that accept jobs of the type, and whether none is needed."""
    if not has_app("versioning"):
        return [], True
    from versioning.conf import conf as of_versions  # noqa: PLC0415 - the app may be absent
    from versioning.domain.declaration import handles  # noqa: PLC0415

    found = {
        one.digest
        for one in declared
        if (accepts := handles(one)) and (job_type in accepts.ranges or not accepts.is_exclusive)
    }
    return sorted(found - {0}), not of_versions().require_declaration
