"""Check whether all regions have the same state of all jobs, row by row."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bench.federation.rig import Rig, Server, until
from federation.domain.order import winner

MIRROR = """
SELECT origin_region, job_id::text, tenant, federation_id::text, type, queue, state, priority,
       attempt, created_at, enqueued_at, completed_at, revision, winner
  FROM ojs_federation_job
"""
Rows = Mapping[tuple[str, str], tuple[Any, ...]]


def mirror(server: Server) -> Rows:
    """Return the copies that a region has of all regions' jobs, its own included."""
    return {(row[0], row[1]): row[2:] for row in server.rows(MIRROR)}


@dataclass(frozen=True, slots=True)
class Copy:
    """The columns of a copy that the rule of the last writer uses."""

    origin_region: str
    job_id: str
    federation_id: str
    enqueued_at: datetime
    revision: int
    is_winner: bool


def wrong_winners(server: Server) -> set[str]:
    """Return the federation ids for which a region's winner differs from the rule's."""
    copies: dict[str, list[Copy]] = {}
    for (region, job), row in mirror(server).items():
        copy = Copy(region, job, row[1], row[8], row[10], row[11])
        copies.setdefault(copy.federation_id, []).append(copy)
    return {
        federation_id
        for federation_id, found in copies.items()
        if [one for one in found if one.is_winner] != [winner(found)]
    }


def differences(rig: Rig) -> list[str]:
    """Return the differences between the regions as texts; empty when they agree."""
    copies = {region: mirror(server) for region, server in rig.servers.items()}
    first, *others = copies
    found = []
    for other in others:
        for key in copies[first].keys() | copies[other].keys():
            ours, theirs = copies[first].get(key), copies[other].get(key)
            if ours != theirs:
                found.append(f"{key}: {first} has {ours}, {other} has {theirs}")
    return found


def jobs(server: Server) -> int:
    """Return the number of jobs of a region that are replicated to other regions."""
    ((number,),) = server.rows(
        "SELECT count(*) FROM ojs_job WHERE meta ? 'ojs.federation.federation_id'"
    )
    return int(number)


def converge(rig: Rig, seconds: float = 240.0) -> float:
    """Wait until all regions have all jobs in the same state; returns the seconds."""
    began = time.monotonic()
    expected = sum(jobs(server) for server in rig.servers.values())

    def is_there() -> bool:
        return all(len(mirror(one)) >= expected for one in rig.servers.values())

    until(is_there, f"{expected} jobs in each region", seconds)
    until(lambda: not differences(rig), "agreement", seconds)
    return time.monotonic() - began
