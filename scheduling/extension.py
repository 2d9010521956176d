"""Hooks of the app: schedules, pools, queue rotation and their loops."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from prometheus_client import Metric
from typing_extensions import override

from jobs.database import on_commit
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import ClaimPlan, FetchRequest, LaneKey, SharingPolicy
from jobs.domain.dispatch.gates import Gate
from jobs.domain.job import Job
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import TERMINAL, State, state_of
from jobs.extensions import (
    ClaimHooks,
    ConfigKind,
    ConfigurationHooks,
    Facts,
    FutureProducers,
    Label,
    LaneHooks,
    LaneWeights,
    Loop,
    MoveHooks,
    OperationsHooks,
    Remark,
    ReportHooks,
    TransitionHooks,
)
from jobs.services.lanes import rotations
from jobs.services.lanes.charge import BATCH, unread_from
from scheduling.conf import conf
from scheduling.services import (
    cron_move,
    cron_producers,
    cron_slots,
    documents,
    explain,
    pool_cache,
)
from scheduling.services import plan as pool_plan
from scheduling.services.cron_fire import due_in_ms, fire
from scheduling.services.cron_slots import pass_on, pass_on_forgotten
from scheduling.services.durations import charge_durations
from scheduling.services.metrics import families
from scheduling.services.orders import reconcile
from scheduling.services.watch import watch


class Cron(TransitionHooks, ReportHooks, OperationsHooks, MoveHooks):
    """Schedules. Spec: contract 7."""

    @override
    def observe(self, transitions: Sequence[Transition]) -> None:
        """Pass on overlap slots after the commit when jobs end.

        Lock order: a slot comes before the rows of jobs, and a transaction that ends a job already
        holds its row.
        """
        ended = [one.job_id for one in transitions if state_of(one.after) in TERMINAL]
        if ended:
            on_commit(partial(pass_on, ended), robust=True)

    @override
    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Return the gate of a pending run: the run that it waits for."""
        is_waiting = job.watched and state_of(job.state) is State.PENDING
        return cron_slots.explain(job.id) if is_waiting else ()

    @override
    def future_producers(self, job_type: str, *, looked: int) -> FutureProducers:
        """Count the schedules that make jobs of a type."""
        return cron_producers.future_producers(job_type, looked=looked)

    @override
    def remarks(self, tenant: str, *, arrives: bool) -> Sequence[Remark]:
        """Refuse a move that would leave a schedule behind or meet another."""
        return cron_move.remarks(tenant, arrives=arrives)

    @override
    def take_out(self, tenant: str, caller: Caller) -> Any:
        """Take the tenant's schedules out of the old cell."""
        return cron_move.take_out(tenant, caller)

    @override
    def put_in(self, tenant: str, taken: Any, caller: Caller) -> None:
        """Store the schedules in the new cell."""
        cron_move.put_in(tenant, taken, caller)

    @override
    def tables(self) -> Sequence[str]:
        """Name the tables of schedules, runs before the tables that they refer to."""
        return ("ojs_cron_run", "ojs_cron_turn", "ojs_cron_entry")

    @override
    def loops(self) -> Iterable[Loop]:
        """Return the loops that fire due schedules and pass on forgotten overlap slots."""
        return (
            Loop("cron", fire, 500, due_in_ms, while_rows_of=("ojs_cron_entry",)),
            Loop("cron_turns", pass_on_forgotten, 1000, while_rows_of=("ojs_cron_turn",)),
        )

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare schedules in the manifest."""
        return (
            Facts(
                "cron",
                "urn:ojs:ext:cron",
                "1.0.0",
                capabilities={"cron_jobs": True},
                paths=("cron", "crons"),
            ),
        )


class FairScheduling(ClaimHooks, LaneHooks, ConfigurationHooks, ReportHooks, OperationsHooks):
    """Pools and queue rotation. Spec: fair-scheduling."""

    @override
    def plan_claim(self, plan: ClaimPlan, request: FetchRequest) -> ClaimPlan:
        """Apply the worker's pool to a claim: its queues, rotation and cap on active jobs."""
        return pool_plan.plan(plan, request)

    @override
    def check_worker(self, worker_id: str, pool: str | None) -> None:
        """Refuse a worker without a pool if the settings require one."""
        pool_plan.require_pool(worker_id, pool)

    @override
    def lane_weights(self, keys: Sequence[LaneKey]) -> LaneWeights:
        """Return the weights of tenants from the pools of the queues."""
        pools = pool_cache.current()
        shares = {key: pools.tenants_of(key.queue) for key in keys}
        return LaneWeights(
            pools.version,
            {k: float(s.weights[k.tenant]) for k, s in shares.items() if k.tenant in s.weights},
            {k: float(s.default) for k, s in shares.items() if s.default != 1},
        )

    @override
    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Return the gates of pools that may take the job: their load and the queue's position."""
        return explain.explain(job, viewer)

    @override
    def sharing_policies(self, queues: Collection[str]) -> tuple[int, Mapping[str, SharingPolicy]]:
        """Return the sharing policy of queues, as the pools define it."""
        pools = pool_cache.current()
        return pools.version, {queue: pools.sharing_policy_of(queue) for queue in queues}

    @override
    def kinds(self) -> Iterable[ConfigKind]:
        """Return the kinds of configuration of this app."""
        return documents.KINDS

    @override
    def clear_caches(self) -> None:
        """Clear the cached pools."""
        pool_cache.cache.clear()

    @override
    def tables(self) -> Sequence[str]:
        """Name the tables of pools, queues before the tables that they refer to."""
        return (
            "ojs_pool_queue", "ojs_pool", "ojs_pool_overload", "ojs_queue_watch", "ojs_scheduling",
        )  # fmt: skip

    @override
    def loops(self) -> Iterable[Loop]:
        """Return the loops for starvation, charges by duration, shares and unused rotations."""
        return (
            Loop("watch", watch, 1000, while_rows_of=("ojs_ready",)),
            Loop("charge", charge_durations, 500, full=BATCH, reads_events=True),
            Loop("shares", reconcile, 60_000),
            Loop("turns", lambda: rotations.prune(conf().turns_kept_ms), 60_000),
        )

    @override
    def unread_from(self) -> int | None:
        """Keep events until their attempts are charged."""
        return unread_from()

    @override
    def metrics(self, label: Label) -> Iterable[Metric]:
        """Expose dispatches, waits and utilization by queue and pool, and starved queues."""
        return families(label)

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare fair scheduling in the manifest."""
        return (
            Facts(
                "fair-scheduling",
                "urn:ojs:ext:fair-scheduling",
                "1.0.0-rc.1",
                capabilities={
                    "worker_pools": True,
                    "pool_isolation": True,
                    "strategies": True,
                    "starvation_prevention": True,
                    "tenant_fairness": True,
                },
                paths=("admin/pools", "admin/scheduling"),
            ),
        )
