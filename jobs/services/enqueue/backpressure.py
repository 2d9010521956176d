"""Keep queues within their bounds. Spec: contract 27.4.

A bounded queue is counted under a lock that its producers hold until they commit. Jobs that leave
the queue meanwhile only make room. Queues without a bound are not read.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from jobs import queries
from jobs.database import connection
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.written import written
from jobs.domain.errors import QueueFull
from jobs.domain.lanes.queues import WARNING, Bound
from jobs.domain.record.events import Kind
from jobs.gather import prepare_wait
from jobs.queries import Load
from jobs.services.lanes.configuration import Configuration
from jobs.services.outcome.drop import drop

RETRY_S = 5
LOOKED, MOST_LOOKED = 100, 10_000  # oldest jobs that are read to free bytes
SLOTS = 1  # of the server's threads that may wait for room
LOOK_S = 0.1
T = TypeVar("T")

_slots = threading.BoundedSemaphore(SLOTS)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The jobs and bytes that a request adds to a bounded queue."""

    bound: Bound
    jobs: int
    bytes: int  # 0 where bytes are not bounded

    @property
    def can_fit(self) -> bool:
        """Whether the request would fit into the empty queue."""
        return self.bound.allows(self.jobs, self.bytes)

    def missing(self, load: Load) -> Load:
        """Return how many jobs and bytes have to go first."""
        most = self.bound.max_depth, self.bound.max_size_bytes
        after = load.jobs + self.jobs, load.bytes + self.bytes
        jobs, size = (
            0 if bound is None else max(0, held - bound)
            for held, bound in zip(after, most, strict=True)
        )
        return Load(jobs, size)


def watch_pressure() -> int:
    """Warn of bounded queues that reach their threshold, and report when they are below it again.

    Each crossing that a run sees is reported once; returns how many there were.
    """
    return queries.pressure(WARNING)


def is_bounded(config: Configuration, drafts: Sequence[JobDraft]) -> bool:
    """Return whether one of the drafts goes to a bounded queue."""
    return any(config.of(draft.queue).bound is not None for draft in drafts)


def bounds(config: Configuration, drafts: Sequence[JobDraft]) -> dict[str, Wanted]:
    """Return the jobs and bytes that `drafts` add to each bounded queue."""
    given: dict[str, list[JobDraft]] = {}
    for draft in drafts:
        if config.of(draft.queue).bound:
            given.setdefault(draft.queue, []).append(draft)
    wanted = {}
    for queue, theirs in given.items():
        bound = config.of(queue).bound
        assert bound is not None  # noqa: S101 - only bounded queues are selected
        is_weighed = bound.max_size_bytes is not None
        size = sum(written(draft).size for draft in theirs) if is_weighed else 0
        wanted[queue] = Wanted(bound, len(theirs), size)
    return wanted


def hold(drafts: Sequence[JobDraft]) -> None:
    """Lock the queues of the drafts, until the caller's transaction ends.

    It also locks queues without a bound: a bound may be set before the last part is stored.
    """
    queries.lock_queues(sorted({draft.queue for draft in drafts}))


def admit(wanted: Mapping[str, Wanted], caller: Caller) -> None:
    """Lock the queues and check that the jobs have room, or make room. Raises QueueFull.

    Locks: the queues, in order of their names, until the caller's transaction ends.
    """
    if wanted:
        queries.lock_queues(sorted(wanted))
    for queue in sorted(wanted):
        given = wanted[queue]
        bound = given.bound
        load = load_of(queue)
        missing = given.missing(load)
        if any(missing):
            gone = _make_room(queue, given, missing)
            if gone is None:
                raise _full(queue, given, load)
            load = Load(load.jobs - gone.jobs, load.bytes - gone.bytes)
        after = bound.tightest(load.jobs + given.jobs, load.bytes + given.bytes)
        if after.ratio >= bound.warning_threshold:
            caller.answer_headers.update(
                {
                    "X-OJS-Queue-Depth": str(after.held),
                    "X-OJS-Queue-Bound": str(after.bound),
                    "X-OJS-Queue-Pressure": f"{after.ratio:.2f}",
                }
            )


def _make_room(queue: str, given: Wanted, missing: Load) -> Load | None:
    """Drop the oldest jobs to free `missing`; returns the dropped load, None if it cannot."""
    if given.bound.strategy != "drop_oldest" or not given.can_fit:
        return None
    number = missing.jobs or LOOKED
    while True:
        oldest = queries.oldest(queue, number)
        gone = Load()
        for n, (_, size) in enumerate(oldest, 1):
            gone = Load(n, gone.bytes + size)
            if gone.jobs >= missing.jobs and gone.bytes >= missing.bytes:
                ids = [job_id for job_id, _ in oldest[:n]]
                drop(ids, "queue_full", "dropped to make room in a full queue", Kind.BP_DROPPED)
                return gone
        if len(oldest) < number or number >= MOST_LOOKED or not missing.bytes:
            return None
        number = min(number * 10, MOST_LOOKED)


def load_of(queue: str) -> Load:
    """Count the jobs and bytes that wait in a queue; exact at this moment."""
    return queries.loads([queue]).get(queue, Load())


def depth_of(queue: str) -> int:
    """Count the jobs that wait in a queue; exact at this moment."""
    return load_of(queue).jobs


def _full(queue: str, given: Wanted, load: Load) -> QueueFull:
    """Return the error that names the bound without room for the request."""
    bound = given.bound
    after = bound.tightest(load.jobs + given.jobs, load.bytes + given.bytes)
    held = load.jobs if after.unit == "jobs" else load.bytes
    return QueueFull(
        f"queue {queue} holds {held} {after.unit}, at most {after.bound} may wait",
        details={
            "queue": queue, "depth": held, "bound": after.bound, "unit": after.unit,
            "strategy": bound.strategy, "retryable": True,
        },
        headers={
            "Retry-After": str(RETRY_S),
            "X-OJS-Queue-Depth": str(held),
            "X-OJS-Queue-Bound": str(after.bound),
        },
    )  # fmt: skip


def or_wait(store: Callable[[], T], caller: Caller) -> T:
    """Store; repeat while a queue that blocks is full, as long as the caller may wait.

    Between the tries nothing is locked. Raises QueueFull when time is up. It raises at once if all
    waiting slots are taken or the caller is in a transaction of its own.
    """
    until = monotonic() + caller.block_ms / 1000
    waits = False
    try:
        while True:
            try:
                return store()
            except QueueFull as problem:
                if problem.details.get("strategy") == "block" and not connection.in_atomic_block:
                    waits = waits or _slots.acquire(blocking=False)
                    left = until - monotonic()
                    if waits and left > 0:
                        prepare_wait()
                        threading.Event().wait(min(LOOK_S, left))
                        continue
                _record_refusal(problem)
                raise
    finally:
        if waits:
            _slots.release()


def _record_refusal(problem: QueueFull) -> None:
    if not connection.in_atomic_block:  # the host's transaction will roll back
        facts = {name: problem.details.get(name) for name in ("queue", "depth", "bound", "unit")}
        queries.note(Kind.BP_REJECTED, problem.details.get("queue"), facts)
