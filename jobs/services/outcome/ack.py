"""End jobs that succeeded. Spec: core ACK, contract 2.2, 3.4, 9.3."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import transaction

from jobs import queries
from jobs.conf import conf
from jobs.domain import jsonio
from jobs.domain.errors import OJSError
from jobs.domain.states import CODES, State
from jobs.domain.transition import Transition
from jobs.repeat import repeated
from jobs.services.outcome.follow import follow
from jobs.services.outcome.refusal import refusals


@dataclass(frozen=True, slots=True)
class Ack:
    """One job to complete; `result` is serialized JSON, None when none was sent.

    `worker_id` and `attempt` are checked against the lease when given.
    """

    job_id: str
    result: bytes | None = None
    worker_id: str | None = None
    attempt: int | None = None


def ack(acks: Sequence[Ack]) -> list[queries.Completed | OJSError]:
    """Complete jobs; returns one entry per ack, in order, with an error for each refused ack.

    It takes one statement. Jobs that an extension watches take one more transaction, with the
    extension's own work.
    """
    rows, watched = queries.complete(_encode(acks), watched=False, heard_ms=conf().heard_ms)
    if watched:
        theirs = [item for item in acks if item.job_id in set(watched)]
        rows += repeated(lambda: _complete_watched(theirs))
    done = {row.id: row for row in rows}
    missing = {item.job_id: item.worker_id for item in acks if item.job_id not in done}
    refused = refusals("ack", missing) if missing else {}
    return [done.get(item.job_id) or refused[item.job_id] for item in acks]


def _complete_watched(acks: Sequence[Ack]) -> list[queries.Completed]:
    with transaction.atomic():
        rows, _ = queries.complete(_encode(acks), watched=True, heard_ms=conf().heard_ms)
        follow(
            [
                Transition(row.id, row.queue, row.type, row.tenant, CODES[State.ACTIVE],
                           CODES[State.COMPLETED], row.attempt)
                for row in rows
            ]
        )  # fmt: skip
    return rows


def _encode(acks: Sequence[Ack]) -> bytes:
    rows: list[dict[str, Any]] = []
    for item in acks:
        row: dict[str, Any] = {
            "id": item.job_id, "worker_id": item.worker_id, "attempt": item.attempt,
        }  # fmt: skip
        if item.result is not None:
            row |= {"has_result": True, "result": orjson.Fragment(item.result)}
        rows.append(row)
    return jsonio.dumps(rows)
