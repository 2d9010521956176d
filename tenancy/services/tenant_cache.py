"""Cache the tenants of this process and notice their changes.

A tenant is read at its first use, as of a configuration version
(`jobs.services.lanes.configuration`). Each enqueue names the version that it follows from, and
stores nothing if that is not the latest. So a changed tenant takes effect from its commit on, in
every process. A tenant without limits costs no statement.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from jobs.caches import VersionedCache
from jobs.services.lanes import configuration
from tenancy.conf import conf
from tenancy.domain.tenant import NAMESPACE, QuotaMode, Rate, Standing, TenantLimits, TenantPolicy
from tenancy.domain.tenant_id import is_tenant_id
from tenancy.domain.throttle import Action, Hold, Reduction
from tenancy.models import Tenant

NOTHING = TenantPolicy()  # of tenants without a configuration


@dataclass(frozen=True, slots=True)
class Tenants:
    """Cached tenants as of one version; `by_id` grows at first use, unknown ids are absent."""

    version: int
    by_id: dict[str, TenantPolicy] = field(default_factory=dict)


# tenants that the transaction of this context is changing
_changing: ContextVar[Mapping[str, TenantPolicy]] = ContextVar("changing", default={})  # noqa: B039 - never written


def current(ids: Iterable[str], version: int | None = None) -> Tenants:
    """Return the cached tenants of `ids` that exist, as of `version` or a later version.

    None: as of the cached version. One statement if some are new to this process.
    """
    found = cache.latest
    if found is None or (version is not None and found.version < version):
        # no cache under a version that this transaction has raised: the tenants that it reads
        # before its change are older than the version
        found = _empty(version) if _changing.get() else cache.current(version)
    missing = [one for one in set(ids) if one not in found.by_id]
    if not missing:
        return found
    # read after the version: tenants may be newer than the version, never older
    by_id = cache.grow(found.by_id, _read(missing))
    return found if by_id is found.by_id else Tenants(found.version, by_id)


def _empty(version: int | None) -> Tenants:
    return Tenants(configuration.version() if version is None else version)


def _read(ids: Collection[str]) -> dict[str, TenantPolicy]:
    rows = Tenant.objects.select_related("throttle").filter(id__in=ids)
    read = {row.id: policy_of(row) for row in rows}
    if conf().default in ids:
        read.setdefault(conf().default, NOTHING)
    return read


def exists(tenant_id: str) -> bool:
    """Return whether a tenant exists; the default tenant always does."""
    if not (conf().enabled and is_tenant_id(tenant_id, conf().default)):
        return False
    return tenant_id in current([tenant_id]).by_id


def shares(ids: Iterable[str]) -> tuple[int, dict[str, TenantPolicy]]:
    """Return the configuration version, and the tenants of `ids` that are cached as of it."""
    wanted = set(ids)
    found = current(wanted)
    by_id = {**found.by_id, **_changing.get()}
    return found.version, {one: by_id[one] for one in wanted if one in by_id}


def namespaced(ids: Collection[str]) -> tuple[int, set[str]]:
    """Return the configuration version, and the tenants with a namespace as of it."""
    found = current(ids)
    by_id = {**found.by_id, **_changing.get()}
    return found.version, {
        one
        for one in ids
        if (by_id[one].is_namespaced if one in by_id else has_namespace(one, None))
    }


def has_namespace(tenant_id: str, isolation: str | None) -> bool:
    """Return whether only a tenant's workers take its jobs; `isolation` null: as in the settings.

    The default tenant has no namespace: its workers name no tenant. Spec: MT 6.1, D-MT-6.
    """
    if not conf().enabled or tenant_id == conf().default:
        return False
    return settings_isolate() if isolation is None else isolation == NAMESPACE


def settings_isolate() -> bool:
    """Return whether tenants without an isolation model have namespaces."""
    return conf().isolation == NAMESPACE


@contextmanager
def as_if(changed: Mapping[str, TenantPolicy]) -> Iterator[None]:
    """Apply the uncommitted changes of this context's transaction in `shares` and `namespaced`."""
    token = _changing.set(changed)
    try:
        yield
    finally:
        _changing.reset(token)


def policy_of(row: Tenant) -> TenantPolicy:
    """Return the policy of a row; NOTHING itself if it is equal to it."""
    found = TenantPolicy(
        is_suspended=row.state == Standing.SUSPENDED,
        is_soft=row.quota_mode == QuotaMode.SOFT,
        weight=row.fairness_weight,
        boost=row.priority_boost,
        limits=limits_of(row),
        reduction=_reduction(row),
        is_namespaced=has_namespace(row.id, row.isolation),
    )
    return NOTHING if found == NOTHING else found


def _reduction(row: Tenant) -> Reduction | None:
    """Return the applied reduction of a row, which has been read with its throttle."""
    throttle = getattr(row, "throttle", None)
    if throttle is None or throttle.hold != Hold.APPLIED:
        return None
    return Reduction(Action(throttle.action), throttle.factor, throttle.had)


def limits_of(row: Tenant) -> TenantLimits:
    """Return the limits of a row."""
    rate = None
    if row.enqueue_limit is not None and row.enqueue_period_ms is not None:
        rate = Rate(row.enqueue_limit, row.enqueue_period_ms)
    return TenantLimits(
        row.max_concurrency, rate, row.max_queue_depth, row.max_scheduled, row.max_queues
    )


cache = VersionedCache(_empty, setting="OJS_TENANCY")
