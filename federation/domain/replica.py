"""A revision of a job as regions exchange it. Spec: contract 23.6.

Members have their JSON names, and an unknown member is refused: if a receiver dropped it silently,
regions would differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from federation.domain.errors import FederationConfigError
from federation.domain.meta import FEDERATION_ID, REPLICATED_FROM
from federation.domain.region import ID_RULE, check_id
from jobs.domain.errors import InvalidRequest
from jobs.domain.states import TERMINAL, WAITING, State
from jobs.domain.wire.bounds import MAX_INT, MAX_TENANT, MAX_TYPE, MAX_WHOLE
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.names import QUEUE_PATTERN, TYPE_PATTERN
from jobs.domain.wire.priorities import MAX_PRIORITY
from jobs.domain.wire.times import format_time, read_time

# pinned to its region; a workflow or a schedule follows it there
PINNED, FOLLOWED = "region", "extension"
BOUNDS: Final = (PINNED, FOLLOWED)
PAYLOAD: Final = ("args", "meta", "envelope")
REQUIRED: Final = (
    "federation_id", "origin_region", "job_id", "type", "queue", "state", "priority", "attempt",
    "created_at", "enqueued_at", "completed_at", "revision", "tenant_id",
)  # fmt: skip
MEMBERS: Final = frozenset((*REQUIRED, "bound_to", "adopts", *PAYLOAD))
STATES: Final = frozenset(str(one) for one in State)
ENDED: Final = frozenset(str(one) for one in TERMINAL)
WAITS: Final = frozenset(str(one) for one in WAITING)


@dataclass(frozen=True, slots=True)
class Adoption:
    """The job that another job replaces."""

    region: str
    job_id: str


@dataclass(frozen=True, slots=True)
class Replica:
    """One revision of one job of one region."""

    federation_id: str
    origin_region: str
    job_id: str
    tenant: str
    type: str
    queue: str
    state: str
    priority: int
    attempt: int
    created_at: datetime
    enqueued_at: datetime  # compared in whole milliseconds
    completed_at: datetime | None  # its end, in any final state
    revision: int
    bound_to: str | None = None  # why no other region may adopt it: a value of BOUNDS
    adopts: Adoption | None = None
    payload: Mapping[str, Any] | None = None  # args, meta, envelope: mode `full` only


def encode(one: Replica) -> dict[str, Any]:
    """Encode a revision."""
    shown: dict[str, Any] = {
        "federation_id": one.federation_id,
        "origin_region": one.origin_region,
        "job_id": one.job_id,
        "type": one.type,
        "queue": one.queue,
        "state": one.state,
        "priority": one.priority,
        "attempt": one.attempt,
        "created_at": format_time(one.created_at),
        "enqueued_at": format_time(one.enqueued_at),
        "completed_at": one.completed_at and format_time(one.completed_at),
        "revision": one.revision,
        "tenant_id": one.tenant,
    }
    if one.bound_to is not None:
        shown["bound_to"] = one.bound_to
    if one.adopts is not None:
        shown["adopts"] = {"region": one.adopts.region, "job_id": one.adopts.job_id}
    return {**shown, **(one.payload or {})}


def decode(raw: object, name: str) -> Replica:
    """Read a revision; `name` is its place in the body. Raises InvalidRequest naming the member."""
    if not isinstance(raw, dict):
        raise InvalidRequest.field(name, "must be an object", raw)
    read = _Reader(raw, name)
    read.require_members()
    return Replica(
        federation_id=read.id("federation_id"),
        origin_region=read.region("origin_region", raw["origin_region"]),
        job_id=read.id("job_id"),
        tenant=read.text("tenant_id", MAX_TENANT),
        type=read.matching("type", TYPE_PATTERN.fullmatch, MAX_TYPE),
        queue=read.matching("queue", QUEUE_PATTERN.fullmatch, MAX_TYPE),
        state=read.one_of("state", STATES),
        priority=read.whole("priority", -MAX_PRIORITY, MAX_PRIORITY),
        attempt=read.whole("attempt", 0, MAX_INT),
        created_at=read.time("created_at"),
        enqueued_at=to_milliseconds(read.time("enqueued_at")),
        completed_at=None if raw["completed_at"] is None else read.time("completed_at"),
        revision=read.whole("revision", 1, MAX_WHOLE),
        bound_to=None if raw.get("bound_to") is None else read.one_of("bound_to", BOUNDS),
        adopts=read.adoption(),
        payload=read.payload(),
    )


def check(one: Replica, name: str) -> None:
    """Refuse a revision with contradictory members. Raises InvalidRequest, as `decode`."""
    problem = partial(_problem, name)
    if (one.state in ENDED) != (one.completed_at is not None):
        raise problem("completed_at", "must be a time if the job has ended, otherwise null")
    if one.payload is None:
        return
    for member in PAYLOAD:
        if member not in one.payload:
            raise problem(member, f"is required: a revision has {', '.join(PAYLOAD)}")
    meta = one.payload["meta"]
    if meta.get(FEDERATION_ID) != one.federation_id:
        raise problem(f"meta.{FEDERATION_ID}", "differs from federation_id")
    if REPLICATED_FROM in meta:
        raise problem(
            f"meta.{REPLICATED_FROM}", "must be absent: a region replicates its own jobs only"
        )


def _problem(name: str, member: str, said: str, value: object = None) -> InvalidRequest:
    return InvalidRequest.field(f"{name}.{member}"[:200], said, value)


def to_milliseconds(at: datetime) -> datetime:
    """Cut a time to whole milliseconds, in which times are compared. Spec: federation 5.2."""
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


class _Reader:
    """Reads the members of one revision."""

    def __init__(self, raw: Mapping[str, Any], name: str) -> None:
        self._raw, self._name = raw, name

    def problem(self, member: str, said: str, value: object = None) -> InvalidRequest:
        return _problem(self._name, member, said, value)

    def require_members(self) -> None:
        for member in REQUIRED:
            if member not in self._raw:
                raise self.problem(member, "is required")
        for member in self._raw:
            if member not in MEMBERS:
                raise self.problem(member, "is not a member of a revision")

    def id(self, member: str) -> str:
        value = self._raw[member]
        if not is_id(value):
            raise self.problem(member, "must be a UUIDv7 in lower case", value)
        return str(value)

    def region(self, member: str, value: object) -> str:
        try:
            return check_id(member, value)
        except FederationConfigError:
            raise self.problem(member, ID_RULE, value) from None

    def text(self, member: str, most: int) -> str:
        value = self._raw[member]
        if not isinstance(value, str) or not 1 <= len(value) <= most:
            raise self.problem(member, f"must be a text of 1 to {most} characters", value)
        return value

    def matching(self, member: str, matches: Any, most: int) -> str:
        value = self.text(member, most)
        if not matches(value):
            raise self.problem(member, f"is not a valid {member} name", value)
        return value

    def one_of(self, member: str, allowed: Any) -> str:
        value = self._raw[member]
        if not isinstance(value, str) or value not in allowed:
            raise self.problem(member, f"must be one of {', '.join(sorted(allowed))}", value)
        return value

    def whole(self, member: str, low: int, high: int) -> int:
        value = self._raw[member]
        if isinstance(value, float) and value.is_integer():  # JSON has one kind of number
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.problem(member, f"must be an integer from {low} to {high}", value)
        return value

    def time(self, member: str) -> datetime:
        try:
            return read_time(self._raw[member])
        except ValueError as problem:
            raise self.problem(member, str(problem), self._raw[member]) from None

    def adoption(self) -> Adoption | None:
        raw = self._raw.get("adopts")
        if raw is None:
            return None
        if not isinstance(raw, dict) or raw.keys() != {"region", "job_id"}:
            raise self.problem("adopts", "must be an object of region and job_id", raw)
        if not is_id(raw["job_id"]):
            raise self.problem("adopts.job_id", "must be a UUIDv7 in lower case", raw["job_id"])
        return Adoption(self.region("adopts.region", raw["region"]), raw["job_id"])

    def payload(self) -> dict[str, Any] | None:
        given = [member for member in PAYLOAD if member in self._raw]
        for member in given:
            kind, said = (list, "an array") if member == "args" else (dict, "an object")
            if not isinstance(self._raw[member], kind):
                raise self.problem(member, f"must be {said}", self._raw[member])
        return {member: self._raw[member] for member in given} or None
