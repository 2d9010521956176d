"""Limits of queues, tenants and keys."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from jobs.domain.lanes.limits import LimitPolicy
from jobs.queries.base import as_json, run


class LimitKey(NamedTuple):
    """The key of a limit; kinds are in domain/lanes/limits.py."""

    kind: int
    tenant: str
    key: str


def limits(policies: Mapping[LimitKey, LimitPolicy]) -> dict[LimitKey, int]:
    """Make limits with these policies, or set the policies of existing limits; return their ids.

    A limit that another transaction is just making is absent: call again.
    """
    keys = sorted(policies)
    wanted = [
        {
            "n": n, "kind": key.kind, "tenant": key.tenant, "key": key.key,
            "policy": policies[key].to_row(), "slot_ms": policies[key].slot_ms,
        }
        for n, key in enumerate(keys)
    ]  # fmt: skip
    return {keys[n]: limit_id for n, limit_id in run("limits", {"limits": as_json(wanted)})}


def outlook(
    pools: Sequence[str],
    plans: Sequence[Mapping[str, Any]],
    queue: str | None,
    *,
    slots: int,
    silence_ms: int,
) -> dict[str, Any]:
    """Read the load of pools and the next turns, as `functions/rotation/outlook.sql`."""
    params = {
        "pools": list(pools), "plans": as_json(list(plans)), "queue": queue,
        "slots": slots, "silence_ms": silence_ms,
    }  # fmt: skip
    found: dict[str, Any] = orjson.loads(run("outlook", params)[0][0])
    return found


class LimitNow(NamedTuple):
    """A limit with the numbers of its active, waiting and started jobs."""

    id: int
    kind: int
    tenant: str
    key: str
    policy: dict[str, Any] | None
    override: dict[str, Any] | None
    override_until: datetime | None
    active: int
    waiting: int
    started: int
    resets_at: datetime | None
    last_start_at: datetime | None


def limit_states(ids: Sequence[int]) -> list[LimitNow]:
    """Read limits with their present usage, in the order of `ids`; ended overrides are absent."""
    return [
        LimitNow(*row[:4], *(text and orjson.loads(text) for text in row[4:6]), *row[6:])
        for row in run("limit_states", {"ids": list(ids)})
    ]


def limit_loads(most: int) -> list[tuple[int, str, int, int]]:
    """Return kind, key, active and waiting jobs of all limits except limits of tenants."""
    return [(row[0], row[1], row[2], row[3]) for row in run("limit_loads", {"most": most})]


def override_limit(limit_id: int, policy: LimitPolicy | None, until: datetime | None) -> None:
    """Override the policy of a limit, or (None) end the override."""
    row = as_json(policy.to_row()) if policy else None
    slot_ms = policy.slot_ms if policy else None
    run("override_limit", {"id": limit_id, "policy": row, "until": until, "slot_ms": slot_ms})


def pause_limits(job_ids: Sequence[str], until: datetime) -> int:
    """Start no more jobs of the limits of active jobs before a time; returns how many limits."""
    return len(run("pause_limits", {"jobs": list(job_ids), "until": until}))
