"""Limits of groups of jobs: made on first use, set, overridden, shown. Spec: contract 27, 10.5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from jobs import queries
from jobs.domain.caller import Caller
from jobs.domain.envelope import JobDraft
from jobs.domain.errors import BackendUnavailable, NotFound
from jobs.domain.limits import (
    ANY_TENANT,
    OF_KEY,
    OF_QUEUE,
    OF_TENANT,
    OF_TYPE,
    LimitPolicy,
    RateLimit,
)
from jobs.domain.states import CODES, State
from jobs.domain.times import format_time
from jobs.models import DEFAULT_TENANT, Limit
from jobs.queries import LimitKey
from jobs.services.audit.audit import audited
from jobs.services.lanes import terms

AVAILABLE = CODES[State.AVAILABLE]
LOOKS = 10  # how often limits that others are making are looked for
# how limits that are not of jobs' own keys are called on the wire
PREFIXES = {OF_KEY: "", OF_QUEUE: "queue:", OF_TYPE: "type:"}


def resolve(policies: Mapping[LimitKey, LimitPolicy]) -> dict[LimitKey, int]:
    """Return the ids of limits, made or given these policies where they differ; one statement."""
    found: dict[LimitKey, int] = {}
    for _ in range(LOOKS):  # one that another transaction was just making is there by the next
        missing = {key: policies[key] for key in policies.keys() - found.keys()}
        if not missing:
            return found
        found |= queries.limits(missing)
    raise BackendUnavailable("rate limits are being removed and made again, try again")


def of_drafts(drafts: Sequence[JobDraft]) -> dict[str, int]:
    """Return the limit that each draft names, by draft id; the latest policy of a key counts.

    No statement when none names one.
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
    """Limit a queue, its active jobs counted; returns the limit's id, None if there is none.

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
    """A limit as it is now; `waiting` counts available jobs of its group."""

    key: str
    tenant: str | None
    policy: LimitPolicy
    override: LimitPolicy | None
    override_until: datetime | None
    active: int
    waiting: int
    started: int  # in the window that ends now
    window_resets_at: datetime | None
    last_start_at: datetime | None

    @property
    def in_force(self) -> LimitPolicy:
        """The policy that counts."""
        return self.override or self.policy

    @property
    def next_allowed_at(self) -> datetime | None:
        """When a throttle lets the next job start."""
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


def override(
    name: str,
    policy: LimitPolicy,
    until: datetime | None,
    caller: Caller,
    tenant: str | None = None,
) -> LimitState:
    """Let `policy` count instead of what jobs say, until a time or (None) for good.

    A key that no job has used is made; so is `type:<type>`, which counts for the jobs of a type
    that are enqueued from then on. `tenant` is that of the key where it is not the caller's own.
    Raises NotFound for a queue that has no limit.
    """
    tenant = tenant or caller.tenant
    with audited(caller, "rate_limit.overridden", name) as data:
        data.update(policy.to_wire(), until=until and format_time(until))
        if tenant:
            data["tenant"] = tenant
        try:
            limit_id = _find(name, tenant).id
        except NotFound:
            if name.startswith(PREFIXES[OF_QUEUE]):
                raise
            limit_id = _made(name, tenant)
        queries.override_limit(limit_id, policy, until)
    return _states([limit_id])[0]


def _made(name: str, tenant: str | None) -> int:
    key = LimitKey(OF_KEY, tenant or DEFAULT_TENANT, name)
    if tenant is None and name.startswith(PREFIXES[OF_TYPE]):
        key = LimitKey(OF_TYPE, ANY_TENANT, name.removeprefix(PREFIXES[OF_TYPE]))
    with transaction.atomic():
        if key.kind == OF_TYPE:
            terms.hold()
            if Limit.objects.filter(kind=key.kind, tenant=key.tenant, key=key.key).exists():
                return resolve({key: LimitPolicy()})[key]
            terms.change()
        return resolve({key: LimitPolicy()})[key]


def end_override(name: str, caller: Caller, tenant: str | None = None) -> None:
    """Let what jobs say count again. Raises NotFound."""
    tenant = tenant or caller.tenant
    with audited(caller, "rate_limit.override_ended", name) as data:
        if tenant:
            data["tenant"] = tenant
        queries.override_limit(_find(name, tenant).id, None, None)


def pause(job_ids: Sequence[str], until: datetime) -> int:
    """Start no job of the groups of these active jobs before a time; returns how many groups."""
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
