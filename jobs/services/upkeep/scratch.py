"""A scratch store with the same claim as the live store, in which the caller sets the time.

The store is a schema with empty copies of the tables and its own copy of the stored functions, for
one session of its own. Statements in it cannot name a live table, take no lock that live statements
wait for, and wake no worker. The schema is dropped at the end. If a process is killed, the next
simulation removes its schema. See docs/adr/0011-simulation.md.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import uuid4

from django.db import DatabaseError, connections

from jobs import extensions, queries
from jobs.database import alias, new_direct_connection, thread_connection
from jobs.domain.dispatch.claim import FetchRequest, LaneKey
from jobs.domain.errors import BackendError
from jobs.domain.lanes.limits import ANY_TENANT, OF_QUEUE, LimitPolicy
from jobs.domain.lanes.queues import limit_of
from jobs.extensions import ConfigurationHooks
from jobs.models import Queue
from jobs.queries import Claimed
from jobs.services.dispatch.fetch import planned
from jobs.services.lanes import lanes
from jobs.services.lanes.configuration import repeat_if_stale
from jobs.services.storage.tables import core_tables

logger = logging.getLogger("ojs.scratch")
PREFIX: Final = "ojs_scratch_"  # also in sql/upkeep/scratch_sweep.sql
LimitName = queries.LimitKey
LONG_MS: Final = 10**11  # no lease or execution ends by itself
TYPE: Final = "scratch.job"
COPIED: Final = ("ojs_terms", "ojs_queue_template")
UNREAD: Final = ("ojs_event", "ojs_finished")  # a claim does not read them: no indexes


class ScratchJob(NamedTuple):
    """A job to store: the caller's number of it, and its lane."""

    number: int
    lane: LaneKey


@contextmanager
def scratch() -> Iterator["Scratch"]:
    """Open a new store. Inside, the ORM and all services of this thread see that store alone.

    Its configuration version is the live version, so extensions must not change the plans and
    weights of that version. Raises BackendError if the database refuses to make the schema.
    """
    with _own_session():
        try:
            copied = _copied()
            queries.make_scratch(f"{PREFIX}{uuid4().hex}", [*_tables(), *copied], copied, UNREAD)
        except DatabaseError as problem:
            raise BackendError(f"the scratch schema cannot be made: {problem}") from problem
        try:
            yield Scratch()
        finally:
            _drop()


@contextmanager
def _own_session() -> Iterator[None]:
    """Give this thread a session of its own, past any pooler: its settings end with it."""
    before = thread_connection()
    own = new_direct_connection()
    connections[alias()] = own
    try:
        yield
    finally:
        connections[alias()] = before
        own.close()


def _tables() -> list[str]:
    return sorted(set(core_tables()) - set(COPIED))


def _copied() -> list[str]:
    found = extensions.implementers(ConfigurationHooks.configuration_tables)
    return [*COPIED, *(name for extension in found for name in extension.configuration_tables())]


def _drop() -> None:
    try:
        queries.drop_scratch()
    except DatabaseError:  # the session has ended; the next simulation removes the schema
        logger.warning("scratch.left", exc_info=True)


class Scratch:
    """The open store of this thread."""

    def __init__(self) -> None:
        """Begin without a lane."""
        self._lanes: dict[LaneKey, int] = {}
        self.version = queries.configuration([]).version  # of the configuration

    def set_clock(self, at: datetime) -> None:
        """Set the time in the store."""
        queries.set_clock(at)

    def configure(self, configs: Mapping[str, Mapping[str, Any]]) -> None:
        """Make queues, each with its configuration."""
        queries.make_queues(list(configs))
        policies = {LimitName(OF_QUEUE, ANY_TENANT, q): limit_of(c) for q, c in configs.items()}
        ids = self.limit({key: policy for key, policy in policies.items() if policy.has_any})
        for queue, config in configs.items():
            queries.configure(queue, config, ids.get(LimitName(OF_QUEUE, ANY_TENANT, queue)))

    def limit(self, policies: Mapping[LimitName, LimitPolicy]) -> dict[LimitName, int]:
        """Make limits; returns their ids."""
        return queries.limits(policies) if policies else {}

    def override(self, policies: Mapping[str, LimitPolicy]) -> None:
        """Replace the configured limits of queues by other limits."""
        keys = {LimitName(OF_QUEUE, ANY_TENANT, q): policy for q, policy in policies.items()}
        for key, limit_id in self.limit(keys).items():
            config = Queue.objects.values_list("config", flat=True).get(name=key.key)
            queries.configure(key.key, config, limit_id)

    def enqueue(self, jobs: Sequence[ScratchJob]) -> None:
        """Store jobs, in order, in one statement."""
        missing = sorted({job.lane for job in jobs} - self._lanes.keys())
        if missing:
            # this process may have cached the configuration before its latest change
            self._lanes |= repeat_if_stale(lambda: lanes.make(missing), extensions.clear_caches)
        rows = [_row(n, job, self._lanes[job.lane]) for n, job in enumerate(jobs)]
        queries.enqueue(rows, config_version=self.version, wake=True)

    def claim(self, request: FetchRequest) -> tuple[list[int], int | None]:
        """Hand out jobs; return their numbers in turn order.

        Also returns in how many ms a limit that held jobs back opens by itself; None: no limit.
        """
        plan = planned(request, request.count)
        if not plan.queues or plan.limit <= 0:
            return [], None
        by = queries.Claimer(request.worker_id, LONG_MS, request.pool, request.names_pool)
        # without hints: their age is measured by the clock of the process, not of this store
        claimed: Claimed = queries.claim(plan, by, LONG_MS, queries.Hints())
        if claimed.is_stale or claimed.worker_pool is not None or claimed.directive:
            raise RuntimeError(f"the claim of {request.worker_id} was refused: {claimed}")
        return [_number(job.id) for job in claimed.jobs], claimed.opens_ms

    def complete(self, numbers: Sequence[int]) -> None:
        """Complete jobs that were handed out."""
        acks = [{"id": _id(number)} for number in numbers]
        queries.complete(acks, watched=True, heard_ms=None)

    def set_depths(self, jobs: Mapping[str, int]) -> None:
        """Set the counts of available jobs, which a claim reads beyond the bound of its count."""
        queries.set_depths(jobs)

    def analyze(self) -> None:
        """Give the planner statistics of tables that have grown."""
        if outgrown := queries.outgrown(_tables()):
            queries.analyze(outgrown)


def _row(n: int, job: ScratchJob, lane_id: int) -> dict[str, Any]:
    return {
        "n": n, "id": _id(job.number), "type": TYPE, "queue": job.lane.queue,
        "tenant": job.lane.tenant, "lane_id": lane_id, "priority": job.lane.priority,
        "watched": False, "args": b"[]", "meta": b"{}", "attributes": b"{}", "bytes": 0,
        "max_attempts": 1, "timeout_ms": LONG_MS,
    }  # fmt: skip


def _id(number: int) -> str:
    return f"{number:032x}"


def _number(job_id: str) -> int:
    return int(job_id.replace("-", ""), 16)
