"""Cache the tenants of this process and notice their changes.

A tenant is read at its first use, as of a configuration version (`jobs.services.lanes.terms`). Each
enqueue names the version that it follows from, and stores nothing if that is not the latest. So a
changed tenant takes effect from its commit on, in every process. A tenant without limits costs no
statement.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial

from django.db import connection, transaction

from jobs.conf import read_anew
from jobs.services.lanes import terms
from tenancy.conf import conf
from tenancy.domain.tenant import NAMESPACE, QuotaMode, Rate, Standing, TenantLimits, Terms
from tenancy.domain.tenant_id import is_tenant_id
from tenancy.domain.throttle import Action, Hold, Reduction
from tenancy.models import Tenant

NOTHING = Terms()  # of tenants without a configuration
MOST = 100_000  # cached tenants of a process


@dataclass(frozen=True, slots=True)
class Known:
    """Cached tenants as of one version; `by_id` grows at first use, unknown ids are absent."""

    version: int
    by_id: dict[str, Terms] = field(default_factory=dict)


class _Memory:
    """The cache of this process; replaced as a whole."""

    latest = Known(0)

    @classmethod
    def cache_clear(cls) -> None:
        """Invalidate the cache."""
        cls.latest = Known(0)


# tenants that the transaction of this context is changing
_changing: ContextVar[Mapping[str, Terms]] = ContextVar("changing", default={})  # noqa: B039 - never written


def known(ids: Iterable[str], version: int | None = None) -> Known:
    """Return a cache with the tenants of `ids` that exist, as of `version` or a later version.

    None: as of the cached version. One statement if some are new to this process.
    """
    found = _Memory.latest
    if version is None and not found.version:
        version = terms.version()
    if (version is not None and found.version < version) or len(found.by_id) > MOST:
        found = Known(version or found.version)
        _remember(found)
    missing = [one for one in set(ids) if one not in found.by_id]
    if missing:
        # read after the version: tenants may be newer than the version, never older
        rows = Tenant.objects.select_related("throttle").filter(id__in=missing)
        read = {row.id: terms_of(row) for row in rows}
        if conf().default in missing:
            read.setdefault(conf().default, NOTHING)
        if not connection.in_atomic_block:
            found.by_id.update(read)
            return found
        # a tenant created in a transaction that rolls back must not enter the cache
        transaction.on_commit(partial(found.by_id.update, read), robust=True)
        return Known(found.version, {**found.by_id, **read})
    return found


def is_known(tenant_id: str) -> bool:
    """Return whether a tenant exists; the default tenant always does."""
    if not (conf().enabled and is_tenant_id(tenant_id, conf().default)):
        return False
    return tenant_id in known([tenant_id]).by_id


def _remember(found: Known) -> None:
    """Cache this result; never under a version that a transaction has raised but not committed.

    Other requests would file data under it that is older than the version.
    """
    if not connection.in_atomic_block:
        _Memory.latest = found
    elif not _changing.get():
        transaction.on_commit(partial(_catch_up, found), robust=True)


def _catch_up(found: Known) -> None:
    if found.version > _Memory.latest.version:
        _Memory.latest = found


def shares(ids: Iterable[str]) -> tuple[int, dict[str, Terms]]:
    """Return the configuration version, and the tenants of `ids` that are cached as of it."""
    wanted = set(ids)
    found = known(wanted)
    by_id = {**found.by_id, **_changing.get()}
    return found.version, {one: by_id[one] for one in wanted if one in by_id}


def apart(ids: Collection[str]) -> tuple[int, set[str]]:
    """Return the configuration version, and the tenants with a namespace as of it."""
    found = known(ids)
    by_id = {**found.by_id, **_changing.get()}
    return found.version, {
        one for one in ids if (by_id[one].is_apart if one in by_id else has_namespace(one, None))
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
def as_if(changed: Mapping[str, Terms]) -> Iterator[None]:
    """Apply the uncommitted changes of this context's transaction in `shares` and `apart`."""
    token = _changing.set(changed)
    try:
        yield
    finally:
        _changing.reset(token)


def forget() -> None:
    """Invalidate the cache."""
    _Memory.cache_clear()


def terms_of(row: Tenant) -> Terms:
    """Return the `Terms` of a row; NOTHING itself if they are equal to it."""
    found = Terms(
        is_suspended=row.state == Standing.SUSPENDED,
        is_soft=row.quota_mode == QuotaMode.SOFT,
        weight=row.fairness_weight,
        boost=row.priority_boost,
        limits=limits_of(row),
        reduction=_reduction(row),
        is_apart=has_namespace(row.id, row.isolation),
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


read_anew(_Memory, setting="OJS_TENANCY")
