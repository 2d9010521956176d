"""The JSON of replication: batches in, copies and peers out. Spec: contract 23.5, 23.6."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from federation.domain.config import MAX_BATCH
from federation.domain.doubts import MAX_CLAIMS, Claim, Outcome
from federation.domain.doubts import decode as decode_claim
from federation.domain.errors import FederationConfigError
from federation.domain.region import ID_PATTERN, ID_RULE, MAX_ID, check_id
from federation.domain.replica import BOUNDS, Replica, check, decode, encode
from federation.models import FederatedJob
from federation.services.replication.adopt import MOST, WHY_NOT, Adopted, Order
from federation.services.replication.forget_region import Forgotten
from federation.services.replication.forget_region import Order as Forgetting
from federation.services.replication.give_up import Answer as GivenUp
from federation.services.replication.lag import PeerLag
from federation.services.replication.replication import ReplicationConfig
from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    ID,
    OBJECT,
    QUEUE,
    STATE,
    TIME,
    TYPE,
    Schema,
    array,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.wire.admin import REASON, optional_text
from jobs.api.wire.members import integer as integer_of
from jobs.api.wire.members import list_of, queue_name
from jobs.domain.access.caller import MAX_REASON
from jobs.domain.errors import InvalidRequest, OJSError
from jobs.domain.wire.bounds import MAX_INT, MAX_TENANT, MAX_WHOLE
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.priorities import MAX_PRIORITY
from jobs.domain.wire.times import parse_time

T = TypeVar("T")

REGION_ID: Schema = text(1, MAX_ID, pattern=f"^{ID_PATTERN.pattern}$")
FACTS: dict[str, Schema] = {
    "federation_id": ID,
    "origin_region": REGION_ID,
    "job_id": ID,
    "type": TYPE,
    "queue": QUEUE,
    "state": STATE,
    "priority": integer(-MAX_PRIORITY, MAX_PRIORITY),
    "attempt": integer(0),
    "created_at": TIME,
    "enqueued_at": TIME,
    "completed_at": maybe(TIME),
    "revision": integer(0, MAX_WHOLE),
    "tenant_id": text(1, MAX_TENANT),
}
ADOPTS = obj({"region": REGION_ID, "job_id": ID}, additionalProperties=False)
MORE: dict[str, Schema] = {
    "bound_to": maybe({"type": "string", "enum": list(BOUNDS)}),
    "adopts": maybe(ADOPTS),
}
REVISION = obj(
    {**FACTS, "revision": integer(1, MAX_WHOLE), "attempt": integer(0, MAX_INT)},
    {**MORE, "args": array(ANY), "meta": OBJECT, "envelope": OBJECT},
    additionalProperties=False,
)
BATCH = obj(
    {"jobs": array(REVISION, minItems=1, maxItems=MAX_BATCH)},
    {"sent_at": maybe(TIME)},
    additionalProperties=False,
)
INGESTED = obj({name: integer(0) for name in ("accepted", "ignored", "conflicts")})
COPY = obj(
    {
        **FACTS,
        "winner": BOOLEAN,
        "replicated_from": maybe(REGION_ID),
        "skewed": BOOLEAN,
        "received_at": maybe(TIME),
    },
    MORE,
)
COPIES = obj({"federation_id": ID, "winner": COPY, "copies": array(COPY)})
PEER = obj(
    {
        "region": REGION_ID,
        "cursor": integer(0),
        "lag_ms": integer(0),
        "is_late": BOOLEAN,
        "pending": integer(0),
        "sent": integer(0),
        "refused": integer(0),
        "sent_at": maybe(TIME),
        "failures": integer(0),
        "last_error": maybe(text()),
        "received": integer(0),
        "received_at": maybe(TIME),
        "conflicts": integer(0),
    }
)
STATUS = obj(
    {
        "enabled": BOOLEAN,
        "local_region": maybe(REGION_ID),
        "mode": maybe(text()),
        "interval_seconds": maybe({"type": "number"}),
        "batch": maybe(integer(1)),
        "max_lag_seconds": maybe({"type": "number"}),
        "replicate_pinned_payload": maybe(BOOLEAN),
        "conflicts": integer(0),
        "peers": array(PEER),
    }
)
ADOPT = obj(
    {},
    {
        "queue": maybe(QUEUE),
        "limit": maybe(integer(1, MOST)),
        "after": maybe(ID),
        "dry_run": maybe(BOOLEAN),
        "force": maybe(BOOLEAN),
        "reason": REASON,
    },
    additionalProperties=False,
)
ADOPTED = obj(
    {
        "region": REGION_ID,
        "dry_run": BOOLEAN,
        "adopted": integer(0),
        "known": integer(0),
        "kept": obj({name: integer(0) for name in WHY_NOT}),
        "refused": integer(0),
        "refusals": array(obj({"job_id": ID, "code": text(), "message": text()})),
        "next": maybe(ID),
    }
)


CLAIM = obj(
    {
        "federation_id": ID,
        "tenant_id": text(1, MAX_TENANT),
        "job_id": ID,
        "enqueued_at": TIME,
        "started": BOOLEAN,
    },
    additionalProperties=False,
)
CLAIMS = obj(
    {"region": REGION_ID, "jobs": array(CLAIM, minItems=1, maxItems=MAX_CLAIMS)},
    additionalProperties=False,
)
GIVEN_UP = obj(
    {
        "results": array(
            obj(
                {
                    "federation_id": ID,
                    "outcome": {"type": "string", "enum": [str(one) for one in Outcome]},
                    "job_id": maybe(ID),
                }
            )
        )
    }
)
FORGET = obj(
    {},
    {"limit": maybe(integer(1, MOST)), "dry_run": maybe(BOOLEAN), "reason": REASON},
    additionalProperties=False,
)
FORGOTTEN = obj({"region": REGION_ID, "dry_run": BOOLEAN, "removed": integer(0), "done": BOOLEAN})


def decode_batch(body: Mapping[str, Any]) -> tuple[list[Replica], datetime | None]:
    """Read a batch of revisions and its time of sending. Raises InvalidRequest, BatchTooLarge."""
    for name in body:
        if name not in {"jobs", "sent_at"}:
            raise InvalidRequest.field(name, "is not a member of a batch")
    raw = list_of(body, "jobs", MAX_BATCH)
    sent_at = body.get("sent_at")
    return _replicas(raw), None if sent_at is None else parse_time(sent_at, "sent_at")


def _replicas(raw: list[Any]) -> list[Replica]:
    return [_at(index, partial(decode, item)) for index, item in enumerate(raw)]


def require_consistent(replicas: Sequence[Replica]) -> None:
    """Refuse revisions with members that contradict each other. Raises InvalidRequest."""
    for index, one in enumerate(replicas):
        _at(index, partial(check, one))


def _at(index: int, read: Callable[[str], T]) -> T:
    try:
        return read(f"jobs[{index}]")
    except OJSError as problem:
        problem.details["index"] = index
        raise


def decode_claims(body: Mapping[str, Any]) -> tuple[str, list[Claim]]:
    """Read the asking region and its claims. Raises InvalidRequest, BatchTooLarge."""
    for name in body:
        if name not in {"region", "jobs"}:
            raise InvalidRequest.field(name, "is not a member of a question")
    try:
        region = check_id("region", body.get("region"))
    except FederationConfigError:
        raise InvalidRequest.field("region", ID_RULE, body.get("region")) from None
    claims = list_of(body, "jobs", MAX_CLAIMS)
    return region, [_at(index, partial(decode_claim, item)) for index, item in enumerate(claims)]


def encode_given_up(answers: Sequence[GivenUp]) -> dict[str, Any]:
    """Encode the outcome of each claim."""
    return {"results": [{**one._asdict(), "outcome": str(one.outcome)} for one in answers]}


def encode_copies(
    federation_id: str, found: Sequence[tuple[Replica, FederatedJob | None]]
) -> dict[str, Any]:
    """Encode a federated job; the first copy is the winner."""
    copies = [_copy(one, row, is_winner=n == 0) for n, (one, row) in enumerate(found)]
    return {"federation_id": federation_id, "winner": copies[0], "copies": copies}


def _copy(one: Replica, row: FederatedJob | None, *, is_winner: bool) -> dict[str, Any]:
    return encode(one) | {
        "winner": is_winner,
        "replicated_from": row.replicated_from if row else None,
        "skewed": row.skewed if row else False,
        "received_at": row.received_at if row and row.replicated_from else None,
    }


def encode_status(
    config: ReplicationConfig | None, peers: Sequence[PeerLag], conflicts: int
) -> dict[str, Any]:
    """Encode the state of replication."""
    rules = config.rules if config else None
    return {
        "enabled": config is not None,
        "local_region": config.local if config else None,
        "mode": str(rules.mode) if rules else None,
        "interval_seconds": rules.interval_seconds if rules else None,
        "batch": rules.batch if rules else None,
        "max_lag_seconds": rules.max_lag_seconds if rules else None,
        "replicate_pinned_payload": rules.replicate_pinned_payload if rules else None,
        "conflicts": conflicts,
        "peers": [_peer(one) for one in peers],
    }


def _peer(one: PeerLag) -> dict[str, Any]:
    row = one.row
    return {
        "region": one.lag.region,
        "cursor": one.lag.cursor,
        "lag_ms": one.lag.lag_ms,
        "is_late": one.is_late,
        "pending": one.lag.pending,
        "sent": row.sent if row else 0,
        "refused": row.refused if row else 0,
        "sent_at": row.sent_at if row else None,
        "failures": row.failures if row else 0,
        "last_error": row.last_error if row else None,
        "received": row.received if row else 0,
        "received_at": row.received_at if row else None,
        "conflicts": row.conflicts if row else 0,
    }


def decode_order(region: str, body: Mapping[str, Any]) -> Order:
    """Read the order of an adoption. Raises InvalidRequest."""
    for name in body:
        if name not in {"queue", "limit", "after", "dry_run", "force", "reason"}:
            raise InvalidRequest.field(name, "is not a member of an adoption")
    queue, after = body.get("queue"), body.get("after")
    if after is not None and not is_id(after):
        raise InvalidRequest.field("after", "must be a UUIDv7 in lower case", after)
    return Order(
        region=region,
        queue=None if queue is None else queue_name("queue", queue),
        limit=integer_of(body, "limit", low=1, high=MOST) or 1_000,
        after=after,
        dry_run=_flag(body, "dry_run"),
        force=_flag(body, "force"),
        reason=optional_text(body, "reason", MAX_REASON),
    )


def _flag(body: Mapping[str, Any], name: str) -> bool:
    raw = body.get(name)
    if raw is not None and not isinstance(raw, bool):
        raise InvalidRequest.field(name, "must be a boolean", raw)
    return raw is True


def encode_adopted(order: Order, report: Adopted) -> dict[str, Any]:
    """Encode the report of an adoption."""
    return {
        "region": order.region,
        "dry_run": order.dry_run,
        "adopted": report.adopted,
        "known": report.known,
        "kept": {name: report.kept[name] for name in WHY_NOT},
        "refused": report.refused,
        "refusals": report.refusals,
        "next": report.next,
    }


def decode_forgetting(region: str, body: Mapping[str, Any]) -> Forgetting:
    """Read the order to remove copies of a region. Raises InvalidRequest."""
    for name in body:
        if name not in {"limit", "dry_run", "reason"}:
            raise InvalidRequest.field(name, "is not a member of this request")
    return Forgetting(
        region=region,
        limit=integer_of(body, "limit", low=1, high=MOST) or 1_000,
        dry_run=_flag(body, "dry_run"),
        reason=optional_text(body, "reason", MAX_REASON),
    )


def encode_forgotten(order: Forgetting, found: Forgotten) -> dict[str, Any]:
    """Encode the report of a removal of copies."""
    return {
        "region": order.region,
        "dry_run": order.dry_run,
        "removed": found.removed,
        "done": found.is_done,
    }
