"""The app's part in enqueue, transitions and loops."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from django.db import transaction
from prometheus_client import Metric

from jobs.domain.claim import ClaimPlan, FetchRequest, LaneKey, Way
from jobs.domain.gates import Gate
from jobs.domain.job import Job
from jobs.domain.states import TERMINAL, State, state_of
from jobs.domain.transition import Transition
from jobs.extensions import Alerts, Extension, Facts, Label, Loop, Sends, Weighed
from jobs.services.lanes import turns
from jobs.services.lanes.charge import BATCH, unread_from
from scheduling.conf import conf
from scheduling.services import cron_sends, cron_turns, explain, plan, pool_cache
from scheduling.services.cron_fire import due_in_ms, fire
from scheduling.services.cron_turns import pass_on, pass_on_forgotten
from scheduling.services.durations import charge_durations
from scheduling.services.metrics import families
from scheduling.services.orders import reconcile
from scheduling.services.watch import alerts, watch


class Cron(Extension):
    """Schedules. Spec: contract 7."""

    def observe(self, transitions: Sequence[Transition]) -> None:
        """Let the next run of a schedule start when the one before it has ended.

        After the commit: whoever ends a job holds its row, and turns come before rows of jobs.
        """
        ended = [one.job_id for one in transitions if state_of(one.after) in TERMINAL]
        if ended:
            transaction.on_commit(partial(pass_on, ended), robust=True)

    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Tell which run a pending run waits for."""
        is_waiting = job.watched and state_of(job.state) is State.PENDING
        return cron_turns.explain(job.id) if is_waiting else ()

    def sends(self, job_type: str, *, looked: int) -> Sends:
        """Tell which schedules make jobs of a type."""
        return cron_sends.sends(job_type, looked=looked)

    def tables(self) -> Sequence[str]:
        """Name the tables of schedules; runs before what they refer to."""
        return ("ojs_cron_run", "ojs_cron_turn", "ojs_cron_entry")

    def loops(self) -> Iterable[Loop]:
        """Fire what is due, and pass on turns that nobody passed on."""
        return (
            Loop("cron", fire, 500, due_in_ms),
            Loop("cron_turns", pass_on_forgotten, 1000),
        )

    def manifest(self) -> Sequence[Facts]:
        """Declare schedules."""
        return (
            Facts(
                "cron",
                "urn:ojs:ext:cron",
                "1.0.0",
                capabilities={"cron_jobs": True},
                paths=("cron", "crons"),
            ),
        )


class FairScheduling(Extension):
    """Pools and turns of queues. Spec: fair-scheduling."""

    def plan(self, plan_: ClaimPlan, request: FetchRequest) -> ClaimPlan:
        """Let the worker's pool decide about queues, their turns and the number of jobs."""
        return plan.plan(plan_, request)

    def enlists(self, worker_id: str, pool: str | None) -> None:
        """Refuse a worker without a pool where the settings require one."""
        plan.require_pool(worker_id, pool)

    def weigh(self, keys: Sequence[LaneKey]) -> Weighed:
        """Return the weights of tenants as the pools of the queues have them."""
        pools = pool_cache.known()
        shares = {key: pools.tenants_of(key.queue) for key in keys}
        return Weighed(
            pools.version,
            {k: float(s.weights[k.tenant]) for k, s in shares.items() if k.tenant in s.weights},
            {k: float(s.default) for k, s in shares.items() if s.default != 1},
        )

    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Tell which pools may take a job, how full they are and where its queue's turn stands."""
        return explain.explain(job, viewer)

    def ways(self, queues: Collection[str]) -> tuple[int, Mapping[str, Way]]:
        """Return how tenants share queues, as the pools have it."""
        pools = pool_cache.known()
        return pools.version, {queue: pools.way_of(queue) for queue in queues}

    def forget(self) -> None:
        """Read the pools anew."""
        pool_cache.forget()

    def alerts(self) -> Alerts:
        """Name queues that starve."""
        return alerts()

    def tables(self) -> Sequence[str]:
        """Name the tables of pools; queues before what they refer to."""
        return (
            "ojs_pool_queue", "ojs_pool", "ojs_pool_overload", "ojs_queue_watch", "ojs_scheduling",
        )  # fmt: skip

    def loops(self) -> Iterable[Loop]:
        """Watch queues and pools, charge by duration, repair shares, forget idle turns."""
        return (
            Loop("watch", watch, 1000),
            Loop("charge", charge_durations, 500, full=BATCH),
            Loop("shares", reconcile, 60_000),
            Loop("turns", lambda: turns.prune(conf().turns_kept_ms), 60_000),
        )

    def unread_from(self) -> int | None:
        """Keep events until the attempts that they tell of were charged."""
        return unread_from()

    def metrics(self, label: Label) -> Iterable[Metric]:
        """Show what goes where, and whom it does not reach."""
        return families(label)

    def manifest(self) -> Sequence[Facts]:
        """Declare what is there."""
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
