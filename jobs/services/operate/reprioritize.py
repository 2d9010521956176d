"""Change the priority of a waiting job. Spec: contract 24.1, PATCH."""

from collections.abc import Mapping

from jobs import queries
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.errors import Conflict
from jobs.domain.job import Job
from jobs.domain.states import CODES, State, state_of
from jobs.services.lanes import lanes
from jobs.services.lanes.lanes import identities
from jobs.services.read.show import show

WAITING = (State.AVAILABLE, State.SCHEDULED, State.PENDING)


def reprioritize(job_id: str, priority: int, actor: str) -> Job:
    """Move a waiting job to the lane of another priority, in one statement; returns it.

    It goes to the end of its new lane. Raises NotFound, or Conflict when the job does not wait,
    also if a concurrent claim takes it.
    """
    job = show(job_id)
    if job.state in {CODES[state] for state in WAITING}:
        key = identities([job])[job.id]._replace(priority=priority)

        def run(lane_ids: Mapping[LaneKey, int]) -> bool:
            return queries.reprioritize(job_id, lane_ids[key], priority, actor)

        if lanes.placed([key], run):
            return show(job_id)
    current = state_of(show(job_id).state).value
    raise Conflict(
        f"job is {current}, its priority cannot be changed",
        details={
            "job_id": job_id,
            "current_state": current,
            "expected_states": [state.value for state in WAITING],
        },
    )
