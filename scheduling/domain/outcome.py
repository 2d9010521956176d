"""The outcome of a simulation, by queue and by tenant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scheduling.domain.workload import Arrival, Workload


@dataclass(frozen=True, slots=True)
class Shares:
    """Waits and starts of the jobs of a queue or tenant; waits in ms.

    `share` is the part of all starts. A job that has not started by the end of the simulation
    counts with the wait until then.
    """

    jobs: int
    started: int
    share: float
    p50_ms: int
    p95_ms: int
    p99_ms: int
    max_ms: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of all jobs, of each queue and of each tenant, by name."""

    total: Shares
    queues: Mapping[str, Shares]
    tenants: Mapping[str, Shares]

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain values for JSON."""
        return {
            "total": asdict(self.total),
            "queues": {name: asdict(one) for name, one in self.queues.items()},
            "tenants": {name: asdict(one) for name, one in self.tenants.items()},
        }


def outcome(load: Workload, starts: Sequence[int | None]) -> Outcome:
    """Summarize when the jobs of a workload started."""
    return Outcome(
        _by(load, starts, lambda _job: "")[""] if load.arrivals else _shares([], 0, 0),
        _by(load, starts, lambda job: job.lane.queue),
        _by(load, starts, lambda job: job.lane.tenant),
    )


def _by(
    load: Workload, starts: Sequence[int | None], name_of: Callable[[Arrival], str]
) -> dict[str, Shares]:
    waits: dict[str, list[int]] = {}
    started: dict[str, int] = {}
    for job, start in zip(load.arrivals, starts, strict=True):
        name = name_of(job)
        until = load.until_ms if start is None else start
        waits.setdefault(name, []).append(max(0, until - job.at_ms))
        started[name] = started.get(name, 0) + (start is not None)
    total = sum(started.values())
    return {name: _shares(waits[name], started[name], total) for name in sorted(waits)}


def _shares(waits: list[int], started: int, total: int) -> Shares:
    waits = sorted(waits)
    return Shares(
        jobs=len(waits),
        started=started,
        share=round(started / total, 4) if total else 0.0,
        p50_ms=_percentile(waits, 50),
        p95_ms=_percentile(waits, 95),
        p99_ms=_percentile(waits, 99),
        max_ms=waits[-1] if waits else 0,
    )


def _percentile(waits: Sequence[int], part: int) -> int:
    """Return the smallest wait that so many percent of the jobs do not exceed."""
    return waits[max(0, -(-len(waits) * part // 100) - 1)] if waits else 0
