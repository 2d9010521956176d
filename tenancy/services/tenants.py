"""Configure, suspend, list and delete tenants. Spec: MT 8, 9.3, 10, 15.1, contract 21.2."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any

from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Min, Q, QuerySet
from django.db.models.functions import Now

from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import NotFound, OJSError, Unprocessable
from jobs.domain.outcome.bulk import ALLOWED, JobFilter, Verb
from jobs.domain.states import TERMINAL
from jobs.extensions import Document
from jobs.services.audit.config_log import Subject, configured
from jobs.services.audit.undo_log import undoable_steps
from jobs.services.lanes import configuration, lanes
from jobs.services.operate import bulk
from jobs.services.record.emit import emit
from jobs.services.record.rates import jobs_by_state
from tenancy import queries
from tenancy.conf import conf
from tenancy.domain.errors import TenantKept, TenantNotEmpty
from tenancy.domain.tenant import (
    NAMESPACE,
    Definition,
    Source,
    Standing,
    TenantLimits,
    TenantPolicy,
)
from tenancy.domain.tenant_request import parse_tenant
from tenancy.domain.throttle import Hold
from tenancy.models import Enqueued, Noise, Tenant, Throttle
from tenancy.services import moves, noise, tenant_cache
from tenancy.services.admission import created
from tenancy.services.documents import TENANT
from tenancy.services.reductions import released, throttle_of
from tenancy.services.tenant_cache import limits_of, policy_of

FORCED = 1_000_000  # most jobs that a deletion cancels


def find(tenant_id: str) -> Tenant:
    """Return a tenant; the default tenant always exists. Raises NotFound."""
    found = _rows().filter(id=tenant_id).first()
    if found is None and tenant_id == conf().default:
        return _default()
    if found is None:
        raise NotFound.of("tenant", tenant_id)
    return found


def _default() -> Tenant:
    """Return the default tenant with its default configuration."""
    since = _begun_at()
    return Tenant(id=conf().default, source=Source.AUTO, created_at=since, updated_at=since)


@cache
def _begun_at() -> datetime:
    """Return when the tables of tenants were created, and so the default tenant."""
    applied = MigrationRecorder.Migration.objects.filter(app=Tenant._meta.app_label)
    found: datetime = applied.aggregate(since=Min("applied"))["since"]
    return found


def _rows() -> QuerySet[Tenant]:
    """Return tenants with their throttles, since their policies depend on them."""
    return Tenant.objects.select_related("throttle")


def locked(tenant_id: str) -> Tenant | None:
    """Return a stored tenant, locked.

    Call it in the transaction of a change, after `configuration.change`; then its throttle is the
    latest, too.
    """
    return _locking().filter(id=tenant_id).first()


def _locking() -> QuerySet[Tenant]:
    return _rows().select_for_update(of=("self",))


def named(ids: Sequence[str]) -> list[Tenant]:
    """Return the tenants of these ids that exist, always including the default tenant if named."""
    found = _rows().in_bulk(ids)
    if conf().default in ids:
        found.setdefault(conf().default, _default())
    return list(found.values())


def page(
    *,
    standing: str | None,
    containing: str,
    only: str | None,
    limit: int,
    offset: int,
    is_noisy: bool | None = None,
) -> tuple[list[Tenant], int]:
    """List tenants by id; returns a page and the total. `only`: just this tenant, if it matches.

    The default tenant is always listed, in its place by id.
    """
    found = _rows()
    if standing is not None:
        found = found.filter(state=standing)
    if containing:
        found = found.filter(Q(id__contains=containing) | Q(name__icontains=containing))
    if is_noisy is not None:
        noisy = Q(id__in=noise.fresh().values("tenant"))
        found = found.filter(noisy if is_noisy else ~noisy)
    if only is not None:
        found = found.filter(id=only)
    unstored = _unstored(standing, containing, only, is_noisy=is_noisy)
    if not unstored:
        return list(found[offset : offset + limit]), found.count()
    place = found.filter(id__lt=unstored[0].id).count()
    # the part of the window before the default tenant, and the part after it
    rows = list(found[min(offset, place) : min(offset + limit, place)])
    rows += unstored if offset <= place < offset + limit else []
    rows += found[max(offset - 1, place) : max(offset + limit - 1, place)]
    return rows, found.count() + 1


def _unstored(
    standing: str | None, containing: str, only: str | None, *, is_noisy: bool | None
) -> list[Tenant]:
    """Return the default tenant if it has no row and matches the filters of a page."""
    row = _default()
    fits = standing in (None, row.state) and containing in row.id and only in (None, row.id)
    if not fits or _rows().filter(id=row.id).exists():
        return []
    if is_noisy is not None and noise.fresh().filter(tenant=row.id).exists() != is_noisy:
        return []
    return [row]


# --- changes --------------------------------------------------------------------------------------


def put(
    tenant_id: str,
    wanted: Definition,
    caller: Caller = SYSTEM,
    *,
    source: Source = Source.DYNAMIC,
    reason: str | None = None,
) -> tuple[Tenant, bool]:
    """Replace the configuration of a tenant; returns it and whether it is new.

    Effective from the commit on, in every process. A change of the isolation model moves lanes and
    touches no job. Raises Unprocessable for a namespace of the default tenant.
    Locks: the configuration version, the tenant, lanes.
    """
    check(tenant_id, wanted)
    with _changing(tenant_id, "tenant.configured", caller, reason) as (row, data):
        is_new = data["is_new"]
        data |= {"limits": wanted.limits.to_wire(), "fairness_weight": wanted.weight}
        data |= {"quota_mode": str(wanted.quota_mode), "isolation": wanted.isolation}
        data["priority_boost"] = wanted.boost
        _limit(row, wanted.limits)
        row.name, row.fairness_weight = wanted.name, wanted.weight
        row.priority_boost = wanted.boost
        row.quota_mode, row.isolation = wanted.quota_mode, wanted.isolation
        row.state = wanted.standing or row.state
        if source is Source.STATIC or row.source == Source.AUTO:
            row.source = source
    return find(tenant_id), is_new


def check(tenant_id: str, wanted: Definition) -> None:
    """Refuse a configuration that `put` refuses. Raises Unprocessable."""
    if wanted.isolation == NAMESPACE and tenant_id == conf().default:
        raise Unprocessable.field(
            "isolation",
            "must not be namespace: workers without a tenant belong to the default tenant",
        )


def put_limits(
    tenant_id: str, limits: TenantLimits, caller: Caller = SYSTEM, *, reason: str | None = None
) -> Tenant:
    """Set the limits of a tenant; `reason` goes into the audit log. Raises NotFound."""
    find(tenant_id)
    with _changing(tenant_id, "tenant.limits_changed", caller, reason) as (row, data):
        before, after = limits_of(row).to_wire(), limits.to_wire()
        data["limits"] = {name: value for name, value in after.items() if value != before[name]}
        _limit(row, limits)
    return find(tenant_id)


def set_standing(
    tenant_id: str, standing: Standing, caller: Caller = SYSTEM, *, reason: str | None = None
) -> Tenant:
    """Suspend a tenant, so that no job is accepted or started, or resume it. Raises NotFound."""
    find(tenant_id)
    verb = "suspended" if standing is Standing.SUSPENDED else "resumed"
    with _changing(tenant_id, f"tenant.{verb}", caller, reason) as (row, _):
        row.state = standing
    return find(tenant_id)


@contextmanager
def _changing(
    tenant_id: str, action: str, caller: Caller, reason: str | None = None
) -> Iterator[tuple[Tenant, dict[str, Any]]]:
    """Store the block's changes of a tenant and apply them to lanes, in one transaction."""
    with configured(caller, _subject(tenant_id), action, reason=reason) as data:
        configuration.change()
        moves.require_still(tenant_id)
        is_new = bool(queries.create([tenant_id]))  # its first job may create it at the same time
        row = _locking().get(id=tenant_id)
        if is_new:
            row.source = Source.DYNAMIC
        before = policy_of(row)
        data["is_new"] = is_new
        yield row, data
        row.updated_at = Now()
        row.save()
        if row.state == Standing.ACTIVE:
            moves.forget_moved(tenant_id)
        enforce(tenant_id, before, policy_of(row))
        if is_new:
            emit([created(tenant_id, Source(row.source))])
    tenant_cache.cache.clear()


def _subject(tenant_id: str) -> Subject:
    return Subject(TENANT, tenant_id)


def restore(name: str, _: str | None, document: Document | None, caller: Caller) -> None:
    """Restore the configuration of a tenant; None: delete it. Raises as `put` and `delete`."""
    if document is None:
        delete(name, caller)
    else:
        put(name, parse_tenant(name, document), caller)


def _limit(row: Tenant, limits: TenantLimits) -> None:
    rate = limits.max_enqueue_rate
    row.max_concurrency = limits.max_concurrency
    row.enqueue_limit = rate and rate.limit
    row.enqueue_period_ms = rate and rate.period_ms
    row.max_queue_depth = limits.max_queue_depth
    row.max_scheduled = limits.max_scheduled
    row.max_queues = limits.max_queues


def enforce(tenant_id: str, before: TenantPolicy, after: TenantPolicy) -> None:
    """Apply a changed tenant to the lanes; a suspended tenant has a cap of 0 active jobs.

    Call it in the transaction of the change, after `configuration.change`.
    """
    if after.cap != before.cap:
        lanes.set_cap(tenant_id, after.cap)
    if _place(after) != _place(before):
        with tenant_cache.as_if({tenant_id: after}):
            lanes.reweigh(tenant=tenant_id)


def _place(policy: TenantPolicy) -> tuple[object, ...]:
    """Return the parts of a tenant that its lanes depend on."""
    return policy.weight, policy.weight_factor, policy.boost, policy.is_namespaced


# --- deletion -------------------------------------------------------------------------------------


def delete(
    tenant_id: str, caller: Caller = SYSTEM, *, force: bool = False, reason: str | None = None
) -> None:
    """Delete a tenant's configuration; ended jobs keep its id.

    Raises NotFound, TenantKept for the default tenant and tenants of the settings. Raises
    TenantNotEmpty while it has live jobs; `force` cancels these first.
    """
    row = find(tenant_id)
    if kept := _kept(row):
        raise kept
    moves.require_still(tenant_id)
    if force:
        states = tuple(ALLOWED[Verb.CANCEL])
        wanted = JobFilter(tenant=tenant_id, states=states)
        with undoable_steps(caller, "tenant.jobs_cancelled", tenant_id, reason=reason):
            bulk.run(Verb.CANCEL, wanted, caller.name, most=FORCED)
    with configured(caller, _subject(tenant_id), "tenant.deleted", reason=reason) as data:
        configuration.change()
        moves.require_still(tenant_id)
        moves.forget_moved(tenant_id)
        if live := _not_empty(tenant_id):
            raise live
        data["force"] = force
        row = find(tenant_id)
        enforce(tenant_id, policy_of(row), tenant_cache.NOTHING)
        if (throttle := throttle_of(row)) and throttle.hold != Hold.LIFTED:
            emit([released(row, throttle, "deleted")])
        Throttle.objects.filter(tenant=tenant_id).delete()
        Enqueued.objects.filter(tenant=tenant_id).delete()
        Noise.objects.filter(tenant=tenant_id).delete()
        Tenant.objects.filter(id=tenant_id).delete()
    tenant_cache.cache.clear()


def obstacle(row: Tenant) -> OJSError | None:
    """Return the error that a deletion without `force` would raise."""
    return _kept(row) or _not_empty(row.id)


def _kept(row: Tenant) -> OJSError | None:
    if row.id != conf().default and row.source != Source.STATIC:
        return None
    return TenantKept(f"tenant {row.id} cannot be deleted", details={"tenant_id": row.id})


def _not_empty(tenant_id: str) -> OJSError | None:
    found = jobs_by_state(tenant=tenant_id)
    live = sum(number for state, number in found.items() if state not in TERMINAL)
    if not live:
        return None
    return TenantNotEmpty(
        f"tenant {tenant_id} has {live} jobs that have not ended",
        details={"tenant_id": tenant_id, "jobs": live},
    )


# --- the settings ---------------------------------------------------------------------------------


def apply_settings() -> int:
    """Configure the tenants of the settings whose entries have changed; returns how many.

    Changes by operators stay until the settings change, too.
    """
    stored = dict(Tenant.objects.filter(settings__isnull=False).values_list("id", "settings"))
    changed = [raw for raw in conf().tenants if stored.get(raw["tenant_id"]) != raw]
    if changed:  # a tenant that moves is changed later
        still = moves.moving([raw["tenant_id"] for raw in changed])
        changed = [raw for raw in changed if raw["tenant_id"] not in still]
    for raw in changed:
        _apply(raw["tenant_id"], raw)
    return len(changed)


def _apply(tenant_id: str, raw: Mapping[str, Any]) -> None:
    with atomic():
        put(tenant_id, parse_tenant(tenant_id, raw), SYSTEM, source=Source.STATIC)
        Tenant.objects.filter(id=tenant_id).update(settings=dict(raw))
    tenant_cache.cache.clear()  # drop entries that were read before the commit
