"""Make ended jobs available again, by hand or by rule. Spec: contract 2.4, 28.2."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from jobs import queries
from jobs.database import atomic
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.job import Job
from jobs.domain.outcome.retry import RetryPolicy
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, State, state_of
from jobs.domain.wire import jsonio
from jobs.extensions import checkpoints
from jobs.services.lanes import lanes
from jobs.services.outcome.follow import follow
from jobs.services.read.show import show


@dataclass(frozen=True, slots=True)
class Override:
    """The changes of a manual retry; None keeps the job's own value."""

    queue: str | None = None
    args: list[Any] | None = None
    meta: Mapping[str, Any] | None = None
    priority: int | None = None
    retry: RetryPolicy | None = None
    clear_checkpoint: bool = False


def revive(
    jobs: Sequence[Job],
    states: Collection[State],
    override: Override | None = None,
    *,
    rule: str | None = None,
) -> set[str]:
    """Make jobs available that ended in one of `states`; returns the ids of revived jobs.

    It takes one statement for any number of jobs. A job that another caller moves first is left
    out. `rule` names the replay rule, if it was one. Attempts start anew, the error history stays.
    """
    change = override or Override()
    keys = {job_id: _changed(key, change) for job_id, key in lanes.identities(jobs).items()}

    def run(lane_ids: Mapping[LaneKey, int]) -> set[str]:
        rows = [_row(job, keys[job.id], lane_ids[keys[job.id]], change, rule) for job in jobs]
        return set(queries.revive(jsonio.dumps(rows), [CODES[state] for state in states]))

    if not jobs:
        return set()
    if not any(job.watched for job in jobs):
        return lanes.placed(keys.values(), run)
    with atomic():
        revived = lanes.placed(keys.values(), run)
        follow([_transition(job) for job in jobs if job.watched and job.id in revived])
        if change.clear_checkpoint or change.args is not None:  # it belongs to the arguments
            checkpoints.forget(revived)
    return revived


def _transition(job: Job) -> Transition:
    after = CODES[State.AVAILABLE]
    return Transition(job.id, job.queue, job.type, job.tenant, job.state, after, attempt=0)


def revive_one(job_id: str, states: Collection[State], override: Override | None = None) -> Job:
    """Make one job available. Raises NotFound, or Conflict when it is in another state."""
    job = show(job_id)
    if state_of(job.state) not in states or not revive([job], states, override):
        raise refusal(job_id, "retried", states)
    return show(job_id)


def refusal(job_id: str, done: str, states: Collection[State]) -> Conflict | NotFound:
    """Return the error for a job that cannot be `done`: its state is wrong or changed just now."""
    try:
        current = state_of(show(job_id).state).value
    except NotFound as problem:
        return problem
    names = sorted(state.value for state in states)
    return Conflict(
        f"job is {current} and cannot be {done}",
        details={"job_id": job_id, "current_state": current, "expected_states": names},
    )


def _changed(key: LaneKey, change: Override) -> LaneKey:
    priority = key.priority if change.priority is None else change.priority
    return key._replace(queue=change.queue or key.queue, priority=priority)


def _row(
    job: Job, key: LaneKey, lane_id: int, change: Override, rule: str | None
) -> dict[str, Any]:
    return {
        "id": job.id,
        "lane_id": lane_id,
        "priority": key.priority,
        "args": _given(change.args),
        "meta": _given(change.meta),
        "attributes": {"retry": change.retry.to_wire()} if change.retry else None,
        "max_attempts": change.retry.max_attempts if change.retry else None,
        "rule": rule,
    }


def _given(value: object) -> object:
    return None if value is None else orjson.Fragment(jsonio.dumps(value))
