"""Make, set, override and show limits of groups of jobs. Spec: contract 27, 10.5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.db.models.functions import Now

from jobs import queries
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import BackendUnavailable, Conflict, NotFound
from jobs.domain.lanes.limits import (
    ANY_TENANT,
    OF_KEY,
    OF_QUEUE,
    OF_TENANT,
    OF_TYPE,
    LimitPolicy,
    RateLimit,
    check_waits,
    parse_policy,
)
from jobs.domain.states import CODES, State
from jobs.domain.wire.times import format_time, parse_time
from jobs.extensions import Document
from jobs.models import DEFAULT_TENANT, Limit
from jobs.queries import LimitKey
from jobs.services.audit.config_log import Subject, configured
from jobs.services.audit.documents import OVERRIDE
from jobs.services.lanes import configuration
from jobs.services.read.clock import now

COUNTED = 10_000  # waiting jobs of a limit, in `limit_states`; queues are counted exactly
AVAILABLE = CODES[State.AVAILABLE]
LOOKS = 10  # how often to look for limits that other transactions make
# prefixes on the wire of limits that do not belong to a key of jobs
PREFIXES = {OF_KEY: "", OF_QUEUE: "queue:", OF_TYPE: "type:"}


def resolve(policies: Mapping[LimitKey, LimitPolicy]) -> dict[LimitKey, int]:
    """Return the ids of limits; make them or update their policies in one statement."""
    found: dict[LimitKey, int] = {}
    for _ in range(LOOKS):  # a limit that another transaction was making exists by the next look
        missing = {key: policies[key] for key in policies.keys() - found.keys()}
        if not missing:
            return found
        found |= queries.limits(missing)
    raise BackendUnavailable("the rate limits are changing, try again")


def of_drafts(drafts: Sequence[JobDraft]) -> dict[str, int]:
    """Return the limit that each draft names, by draft id; the latest policy of a key counts.

    If no draft names a limit, it runs no statement.
    """
    policies: dict[LimitKey, LimitPolicy] = {}
    keys: dict[str, LimitKey] = {}
    for draft in drafts:
        if draft.rate_limit and draft.rate_limit.key is not None:
            key = keys[draft.id] = _key(draft.tenant, draft.rate_limit)
            policies[key] = draft.rate_limit.policy
    if not keys:
        return {}
    ids = resolve(policies)
    return {draft_id: ids[key] for draft_id, key in keys.items()}


def _key(tenant: str, named: RateLimit) -> LimitKey:
    return LimitKey(OF_KEY, ANY_TENANT if named.is_global else tenant, named.key or "")


def set_of_queue(queue: str, policy: LimitPolicy) -> int | None:
    """Limit a queue and count its active jobs; returns the limit's id, None if there is none.

    Call it in a transaction. Jobs that a claim is just handing out are not counted.
    """
    return _set(LimitKey(OF_QUEUE, ANY_TENANT, queue), policy)


def set_of_tenant(tenant: str, policy: LimitPolicy) -> int | None:
    """Limit a tenant, as `set_of_queue` does; the transaction has to hold the lock of lanes."""
    return _set(LimitKey(OF_TENANT, tenant, ""), policy)


def _set(key: LimitKey, policy: LimitPolicy) -> int | None:
    is_new = not Limit.objects.filter(**key._asdict()).exists()
    if is_new and policy == LimitPolicy():
        return None
    limit_id = resolve({key: policy})[key]
    if is_new:
        queries.adopt(limit_id)
    return limit_id


@dataclass(frozen=True, slots=True)
class LimitState:
    """A limit at this moment; `waiting` counts available jobs of its group."""

    key: str
    tenant: str | None
    policy: LimitPolicy
    override: LimitPolicy | None
    override_until: datetime | None
    active: int
    waiting: int
    started: int  # in the current window
    window_resets_at: datetime | None
    last_start_at: datetime | None

    @property
    def is_lower_bound(self) -> bool:
        """Whether the count of waiting jobs stopped at its bound."""
        return self.waiting >= COUNTED and not self.key.startswith(PREFIXES[OF_QUEUE])

    @property
    def in_force(self) -> LimitPolicy:
        """The policy that applies: the override, if there is one."""
        return self.override or self.policy

    @property
    def next_allowed_at(self) -> datetime | None:
        """The time at which a throttle lets the next job start."""
        policy = self.in_force
        if policy.throttle is None or policy.throttle_ms is None or self.last_start_at is None:
            return None
        return self.last_start_at + timedelta(milliseconds=policy.throttle_ms / policy.throttle)


def states(
    tenant: str | None, *, limit: int, offset: int, containing: str = ""
) -> tuple[list[LimitState], int]:
    """List limits by key, of one tenant or (None) of all; returns a page and the total."""
    found = Limit.objects.filter(kind__in=PREFIXES, key__contains=containing)
    if tenant is not None:
        found = found.filter(kind=OF_KEY, tenant=tenant)
    ids = found.order_by("kind", "key", "tenant").values_list("id", flat=True)
    return _states(list(ids[offset : offset + limit])), found.count()


def state(name: str, tenant: str | None) -> LimitState:
    """Return one limit. Raises NotFound."""
    return _states([_find(name, tenant).id])[0]


def _states(ids: Sequence[int]) -> list[LimitState]:
    rows = queries.limit_states(ids)
    waiting = queries.depths([row.key for row in rows if row.kind == OF_QUEUE])
    return [
        LimitState(
            key=PREFIXES[row.kind] + row.key,
            tenant=None if row.tenant == ANY_TENANT else row.tenant,
            policy=LimitPolicy.from_row(row.policy or {}),
            override=LimitPolicy.from_row(row.override) if row.override is not None else None,
            override_until=row.override_until,
            active=row.active,
            waiting=row.waiting
            if row.kind != OF_QUEUE
            else waiting.get(row.key, {}).get(AVAILABLE, 0),
            started=row.started,
            window_resets_at=row.resets_at,
            last_start_at=row.last_start_at,
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class Override:
    """A policy that replaces a limit until a time, or (None) until an operator ends it."""

    policy: LimitPolicy
    until: datetime | None


def override(
    name: str,
    policy: LimitPolicy,
    until: datetime | None,
    caller: Caller,
    tenant: str | None = None,
) -> LimitState:
    """Apply `policy` instead of the jobs' own policy, until a time or (None) without end.

    A key that no job has used is made. So is `type:<type>`, which applies to the jobs of a type
    that are enqueued from then on. `tenant` is the tenant of the key if it is not the caller's own.
    Raises NotFound for a queue that has no limit, and InvalidRequest if the limit of a queue shall
    drop or delay jobs.
    """
    tenant = tenant or caller.tenant
    with configured(caller, _subject(name, tenant), "rate_limit.overridden") as data:
        data.update(policy.to_wire(), until=until and format_time(until))
        if tenant:
            data["tenant"] = tenant
        try:
            found = _find(name, tenant)
            if found.kind == OF_QUEUE:
                check_waits(policy, "on_limit")
            limit_id = found.id
        except NotFound:
            if name.startswith(PREFIXES[OF_QUEUE]):
                raise
            limit_id = _made(name, tenant)
        queries.override_limit(limit_id, policy, until)
    return _states([limit_id])[0]


def _made(name: str, tenant: str | None) -> int:
    key = _key_of(name, tenant)
    with atomic():
        if key.kind == OF_TYPE:
            configuration.hold()
            if Limit.objects.filter(kind=key.kind, tenant=key.tenant, key=key.key).exists():
                return resolve({key: LimitPolicy()})[key]
            configuration.change()
        return resolve({key: LimitPolicy()})[key]


def _key_of(name: str, tenant: str | None) -> LimitKey:
    """Return the limit that an override of an unknown name makes; no limit of a queue is made."""
    for kind in (OF_TYPE, OF_QUEUE):
        if tenant is None and name.startswith(PREFIXES[kind]):
            return LimitKey(kind, ANY_TENANT, name.removeprefix(PREFIXES[kind]))
    return LimitKey(OF_KEY, tenant or DEFAULT_TENANT, name)


def override_of_queue(name: str) -> Override | None:
    """Return the override that is in force for a queue; one statement."""
    lasts = Q(override_until=None) | Q(override_until__gt=Now())
    row = Limit.objects.filter(lasts, kind=OF_QUEUE, key=name, override__isnull=False).first()
    return Override(LimitPolicy.from_row(row.override or {}), row.override_until) if row else None


def end_override(name: str, caller: Caller, tenant: str | None = None) -> None:
    """End an override: the jobs' own policy applies again. Raises NotFound."""
    tenant = tenant or caller.tenant
    with configured(caller, _subject(name, tenant), "rate_limit.override_ended") as data:
        if tenant:
            data["tenant"] = tenant
        queries.override_limit(_find(name, tenant).id, None, None)


def pause(job_ids: Sequence[str], until: datetime) -> int:
    """Start no job of these active jobs' groups before a time; returns how many groups."""
    return queries.pause_limits(job_ids, until)


def _find(name: str, tenant: str | None) -> Limit:
    of_key = Limit.objects.filter(kind=OF_KEY, key=name)
    if tenant is not None:
        of_key = of_key.filter(tenant=tenant)
    found = of_key.order_by("tenant").first()
    if found is None and tenant is None:
        for kind, prefix in PREFIXES.items():
            if prefix and name.startswith(prefix):
                found = Limit.objects.filter(kind=kind, key=name.removeprefix(prefix)).first()
    if found is None:
        raise NotFound.of("rate limit", name)
    return found


def restore(name: str, tenant: str | None, document: Document | None, caller: Caller) -> None:
    """Restore an override; None: end the present one. Raises Conflict if its time is over."""
    if document is None:
        end_override(name, caller, tenant)
        return
    until = document["until"] and parse_time(document["until"], "until")
    if until is not None and until <= now():
        raise Conflict(f"the override of {name} ended at {document['until']}")
    override(name, parse_policy(document), until, caller, tenant)


def _subject(name: str, tenant: str | None) -> Subject:
    """Return a limit as an object of the history; only limits of keys belong to a tenant."""
    try:
        found = _find(name, tenant)
        return Subject(OVERRIDE, name, found.tenant if found.kind == OF_KEY else None)
    except NotFound:
        key = _key_of(name, tenant)
        return Subject(OVERRIDE, name, key.tenant if key.kind == OF_KEY else None)
