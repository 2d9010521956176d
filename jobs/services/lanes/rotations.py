"""Read the state of queue rotations for the planner of claims. Spec: fair-scheduling 7."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs import queries
from jobs.conf import conf
from jobs.domain.dispatch.claim import ClaimPlan, Strategy
from jobs.domain.lanes.rotations import Ahead, Crew

BATCH = 1_000


def prune(kept_ms: int) -> int:
    """Delete rotations that no claim used for `kept_ms`; returns how many, at most BATCH."""
    return queries.prune_rotations(kept_ms, BATCH)


@dataclass(frozen=True, slots=True)
class Outlook:
    """The pools and rotations that claims would use now."""

    config_version: int
    active: Mapping[str, int]  # jobs, by pool
    crews: Sequence[Crew]
    rotations: Sequence[Ahead]  # by plan


def outlook(
    pools: Sequence[str], plans: Sequence[ClaimPlan], queue: str | None = None, *, slots: int
) -> Outlook:
    """Return pools and the next `slots` rotation steps of plans, as a claim would.

    It runs one statement.
    """
    found = queries.outlook(
        pools,
        [_rotation_of(plan) for plan in plans],
        queue,
        slots=slots,
        silence_ms=conf().worker_silence_ms,
    )
    return Outlook(
        found["terms"],
        found["active"],
        [Crew(**crew) for crew in found["crews"]],
        [_ahead(plan, one) for plan, one in zip(plans, found["turns"], strict=True)],
    )


def _rotation_of(plan: ClaimPlan) -> dict[str, Any]:
    """Describe the rotation of a plan; without a rotation the queues come in their order."""
    rotation = plan.rotation
    return {
        "queues": plan.queues,
        "tenant": plan.tenant,
        "key": rotation.key if rotation else "",
        "strategy": int(rotation.strategy if rotation else Strategy.STRICT),
        "weights": rotation and rotation.weights,
        "ratio": rotation and rotation.ratio,
        "rotation_ms": rotation and rotation.rotation_ms,
        "is_global": rotation is not None and rotation.is_global,
    }


def _ahead(plan: ClaimPlan, found: Mapping[str, Any]) -> Ahead:
    return Ahead(
        queues=plan.queues,
        is_open=tuple(found["is_open"]),
        is_owed=tuple(found["is_owed"]),
        waits=tuple(found["waits"]),
        order=tuple(position - 1 for position in found["order"]),
        dispatched=found["dispatched"],
    )
