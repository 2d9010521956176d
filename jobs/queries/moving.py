"""Statements of moves of tenants between cells."""

from collections.abc import Sequence
from itertools import starmap
from typing import NamedTuple

import orjson

from jobs.queries.base import run


class MovingJob(NamedTuple):
    """A packed job: the members that decide its lane, and all its rows as JSON text."""

    n: int  # its place in the list
    job_id: str
    type: str
    queue: str
    priority: int
    version: str | None  # JSON text
    limits: str | None  # JSON text: the limits that it names
    has_null_result: bool
    image: str


def moving_list(tenant: str) -> int:
    """List the jobs of a tenant that move; returns how many."""
    return int(run("moving_list", {"tenant": tenant})[0][0])


def moving_pack(
    tenant: str, batch: int, *, size: int, most_bytes: int
) -> tuple[dict[str, int], int]:
    """Take listed jobs out of this cell; returns their numbers by state, and how many were read."""
    params = {"tenant": tenant, "batch": batch, "size": size, "bytes": most_bytes}
    packed, read = run("moving_pack", params)[0]
    return orjson.loads(packed), int(read)


def moving_batch(tenant: str, batch: int, size: int) -> list[MovingJob]:
    """Return the packed jobs of a batch, at most `size`, in order."""
    params = {"tenant": tenant, "batch": batch, "size": size}
    return list(starmap(MovingJob, run("moving_batch", params)))


def moving_store(lanes: Sequence[int], images: Sequence[str]) -> dict[str, int]:
    """Store packed jobs in these lanes; returns their numbers by state.

    Raises DatabaseError OJS01 when a lane was deleted.
    """
    rows = run("moving_store", {"lanes": list(lanes), "images": list(images)})
    return {str(row[0]): int(row[1]) for row in rows}


def moving_null_results(ids: Sequence[str]) -> None:
    """Give stored jobs the result null."""
    run("moving_null_results", {"ids": list(ids)})


class Live(NamedTuple):
    """Live jobs of a tenant in one state; `watched`: those that an extension follows."""

    state: int
    jobs: int
    watched: int


def moving_live(tenant: str) -> list[Live]:
    """Count the live jobs of a tenant by state."""
    return list(starmap(Live, run("moving_live", {"tenant": tenant})))


def moving_active(tenant: str) -> int:
    """Count the active jobs of a tenant."""
    return int(run("moving_active", {"tenant": tenant})[0][0])


def moving_open() -> dict[str, int]:
    """Return the open transactions of other clients with their sessions."""
    return dict(run("moving_open", {}))


def moving_mark(number: int) -> None:
    """Lock a number until the end of the transaction."""
    run("moving_mark", {"number": number})


def moving_is_marked(number: int) -> bool:
    """Return whether another session of this database holds the lock of the number."""
    return bool(run("moving_is_marked", {"number": number})[0][0])
