"""Read the changing numbers of the whole system: depths, rates, workers. Spec: contract 25.5.

One reading serves all followers of this process, at most every few seconds.
"""

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from django.db.models import Count, Sum

from jobs import queries
from jobs.domain.states import State, state_of
from jobs.models import Lease, Total, Worker
from jobs.services.workers.heartbeat import Standing

MOST_WORKERS = 500
MOST_QUEUES = 500
SPAN_S = 10.0  # rates cover about the last ten seconds


@dataclass(frozen=True, slots=True)
class WorkerVital:
    """One live worker."""

    id: str
    state: str
    active_jobs: int
    last_heartbeat_at: datetime | None


@dataclass(frozen=True, slots=True)
class Vital:
    """The numbers of one moment; `error_rate` is the percentage of attempts that failed."""

    queues: list[tuple[str, Mapping[State, int]]]
    processed_per_second: float
    failed_per_second: float
    enqueued_per_second: float
    error_rate: float
    workers_total: int
    workers: list[WorkerVital]


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    completed: int
    failed: int
    enqueued: int


class Vitals:
    """Keeps the last reading, and the counts of the last seconds for the rates."""

    def __init__(self) -> None:
        """Start without a reading."""
        self._lock = threading.Lock()
        self._samples: deque[_Sample] = deque()
        self._latest: Vital | None = None
        self._at = 0.0

    def now(self, max_age_s: float) -> Vital:
        """Return numbers that are at most `max_age_s` old."""
        with self._lock:
            if self._latest is None or monotonic() - self._at >= max_age_s * 0.9:
                self._latest = self._read()
                self._at = monotonic()
            return self._latest

    def _read(self) -> Vital:
        last = self._sample()
        first = self._samples[0]
        span = last.at - first.at
        completed, failed = last.completed - first.completed, last.failed - first.failed
        attempts = completed + failed
        living = Worker.objects.filter(stopped_at=None, dead_at=None)
        return Vital(
            queues=[
                (name, {state_of(code): number for code, number in jobs.items()})
                for name, jobs in sorted(queries.depths().items())[:MOST_QUEUES]
            ],
            processed_per_second=_rate(completed, span),
            failed_per_second=_rate(failed, span),
            enqueued_per_second=_rate(last.enqueued - first.enqueued, span),
            error_rate=round(100 * failed / attempts, 2) if attempts else 0.0,
            workers_total=living.count(),
            workers=_workers(list(living.order_by("id")[:MOST_WORKERS])),
        )

    def _sample(self) -> _Sample:
        sums = Total.objects.aggregate(
            completed=Sum("completed", default=0),
            failed=Sum("failed", default=0),
            enqueued=Sum("enqueued", default=0),
        )
        sample = _Sample(monotonic(), **{name: int(number) for name, number in sums.items()})
        if self._samples and sample.completed < self._samples[-1].completed:
            self._samples.clear()  # the store was emptied
        self._samples.append(sample)
        while self._samples[0].at < sample.at - SPAN_S and len(self._samples) > 2:  # noqa: PLR2004
            self._samples.popleft()
        return sample


def _rate(number: int, span_s: float) -> float:
    return round(number / span_s, 2) if span_s else 0.0


def _workers(living: list[Worker]) -> list[WorkerVital]:
    held = dict(
        Lease.objects.filter(worker_id__in=[worker.id for worker in living])
        .values_list("worker_id")
        .annotate(Count("id"))
    )
    return [
        WorkerVital(
            worker.id,
            Standing(max(worker.reported, worker.directive)).name.lower(),
            held.get(worker.id, 0),
            worker.last_heartbeat_at,
        )
        for worker in living
    ]
