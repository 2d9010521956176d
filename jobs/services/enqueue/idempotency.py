"""Answer a repeated bulk request with the first answer. Spec: contract 11.2."""

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

from jobs import queries
from jobs.database import atomic
from jobs.domain.errors import Conflict
from jobs.models import BulkAnswer

KEEP_MS = 86_400_000
CLAIM_MS = 120_000  # age at which a request without an answer counts as dead
TRIES = 3


@dataclass(frozen=True, slots=True)
class Reply:
    """Status and JSON of an answer; `is_repeated`: it was stored by an earlier request."""

    status: int
    body: bytes
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Ticket:
    """One request with an idempotency key; `tenant` is the tenant of the API key."""

    operation: str
    tenant: str | None
    key: str
    body: bytes
    is_atomic: bool  # the work joins the transaction that stores the answer

    @property
    def place(self) -> dict[str, str]:
        """The primary key of the answer."""
        return {"operation": self.operation, "tenant": self.tenant or "", "key": self.key}


def once(ticket: Ticket, work: Callable[[], Reply]) -> Reply:
    """Do the work, unless its key has an answer already. Raises Conflict for another body.

    Only answers below 400 are stored: after another answer the key is free again. If the work is
    not part of the transaction, a crash in the middle frees the key after CLAIM_MS.
    """
    for _ in range(TRIES):
        with atomic() if ticket.is_atomic else nullcontext():
            if _claim(ticket):
                return _answered(ticket, work)
        if (reply := _stored_reply(ticket)) is not None:
            return reply
    raise Conflict("the first request with this key failed just now, try again")


def _claim(ticket: Ticket) -> bool:
    request_hash = hashlib.sha256(ticket.body).digest()
    params = {"request_hash": request_hash, "keep_ms": KEEP_MS, "claim_ms": CLAIM_MS}
    return queries.reserve_answer({**params, **ticket.place})


def _answered(ticket: Ticket, work: Callable[[], Reply]) -> Reply:
    kept = BulkAnswer.objects.filter(**ticket.place)
    try:
        reply = work()
    except BaseException:
        if not ticket.is_atomic:  # otherwise the rollback frees the key
            kept.delete()
        raise
    if reply.status < 400:  # noqa: PLR2004 - statuses
        kept.update(status=reply.status, answer=reply.body)
    else:
        kept.delete()
    return reply


def _stored_reply(ticket: Ticket) -> Reply | None:
    row = BulkAnswer.objects.filter(**ticket.place).first()
    if row is None:
        return None
    if bytes(row.request_hash) != hashlib.sha256(ticket.body).digest():
        raise Conflict(
            "the idempotency key was used with another body", details={"field": "Idempotency-Key"}
        )
    if row.status is None or row.answer is None:
        raise Conflict(
            "the first request with this key is still being answered",
            details={"field": "Idempotency-Key"},
        )
    return Reply(row.status, bytes(row.answer), is_repeated=True)


def forget_answers() -> int:
    """Remove answers that are older than a day; returns how many."""
    return BulkAnswer.objects.filter(created_at__lt=queries.ago(KEEP_MS)).delete()[0]
