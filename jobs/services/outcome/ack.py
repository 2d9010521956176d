"""End jobs that succeeded. Spec: core ACK, contract 2.2, 3.4, 9.3."""

from collections.abc import Sequence
from typing import Any

from django.db import OperationalError

from jobs import queries
from jobs.conf import conf
from jobs.connection_pool import is_usable
from jobs.database import atomic
from jobs.domain.errors import OJSError
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, State
from jobs.gather import Gathering, Later
from jobs.repeat import repeated
from jobs.services.outcome.follow import follow
from jobs.services.outcome.refusal import refusals
from jobs.trips import Trip
from ojs_tasks.worker.ports import Ack

__all__ = ["Ack", "ack", "ack_all", "ack_soon"]


def ack(acks: Sequence[Ack]) -> list[queries.Completed | OJSError]:
    """Complete jobs; returns one entry per ack, in order, with an error for each refused ack.

    It takes one statement. Jobs that an extension watches take one more transaction, with the
    extension's own work.
    """
    rows, watched = queries.complete(_rows(acks), watched=False, heard_ms=conf().heard_ms)
    if watched:
        theirs = [item for item in acks if item.job_id in set(watched)]
        rows += repeated(lambda: _complete_watched(theirs))
    done = {row.id: row for row in rows}
    missing = {item.job_id: item.worker_id for item in acks if item.job_id not in done}
    refused = refusals("ack", missing) if missing else {}
    return [done.get(item.job_id) or refused[item.job_id] for item in acks]


def ack_all(acks: Sequence[Ack]) -> list[OJSError]:
    """Complete jobs, as `ack` does; returns only the errors of refused acks.

    If the statement ends all jobs, its answer is one row.
    """
    done, watched = queries.complete_all(_rows(acks), heard_ms=conf().heard_ms)
    if done is None:
        return []
    if watched:
        theirs = [item for item in acks if item.job_id in watched]
        done |= {row.id for row in repeated(lambda: _complete_watched(theirs))}
    missing = {item.job_id: item.worker_id for item in acks if item.job_id not in done}
    return list(refusals("ack", missing).values())


def ack_soon(item: Ack) -> Later[queries.Completed | OJSError] | queries.Completed | OJSError:
    """Begin to complete a job, as `ack` does; the statement may be shared."""
    if not is_usable():
        return ack([item])[0]
    # `ack` decides about a job that is watched, locked by another transaction, or refused
    return Later(_acks, item, lambda outcome: outcome() or ack([item])[0])


def _begin(acks: Sequence[Ack]) -> Trip[list[queries.Completed | None]]:
    first = {item.job_id: item for item in reversed(acks)}

    def read(found: tuple[list[queries.Completed], list[str]]) -> list[queries.Completed | None]:
        done = {row.id: row for row in found[0]}
        return [done.get(item.job_id) if first[item.job_id] is item else None for item in acks]

    return queries.begin_complete(_rows(list(first.values())), heard_ms=conf().heard_ms).then(read)


_acks = Gathering(_begin, OperationalError)


def _complete_watched(acks: Sequence[Ack]) -> list[queries.Completed]:
    with atomic():
        rows, _ = queries.complete(_rows(acks), watched=True, heard_ms=conf().heard_ms)
        follow(
            [
                Transition(row.id, row.queue, row.type, row.tenant, CODES[State.ACTIVE],
                           CODES[State.COMPLETED], row.attempt,
                           may_have_checkpoint=bool(row.has_checkpoint))
                for row in rows
            ]
        )  # fmt: skip
    return rows


def _rows(acks: Sequence[Ack]) -> list[dict[str, Any]]:
    return [
        {"id": item.job_id, "worker_id": item.worker_id, "attempt": item.attempt,
         "result": item.result}
        for item in acks
    ]  # fmt: skip
