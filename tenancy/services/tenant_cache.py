"""What this process knows about tenants, and how it notices that they changed.

Read when they are met, as of a version of the terms (`jobs.services.lanes.terms`). Each enqueue
names the version that it follows from and stores nothing when that is not the latest: a changed
tenant counts from its commit on, in every process, and one without limits costs no statement.
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

NOTHING = Terms()  # of tenants that nobody said anything about
MOST = 100_000  # tenants that a process remembers


@dataclass(frozen=True, slots=True)
class Known:
    """Terms as of one version; `by_id` grows as tenants are met, unknown ones are absent."""

    version: int
    by_id: dict[str, Terms] = field(default_factory=dict)


class _Memory:
    """What this process has read; replaced as a whole."""

    latest = Known(0)

    @classmethod
    def cache_clear(cls) -> None:
        """Read everything anew."""
        cls.latest = Known(0)


# terms of tenants that the transaction of this context is just changing
_changing: ContextVar[Mapping[str, Terms]] = ContextVar("changing", default={})  # noqa: B039 - never written


def known(ids: Iterable[str], version: int | None = None) -> Known:
    """Return what knows those of `ids` that exist, as of `version` or a later one.

    None: as of the version that is remembered. One statement where some are new to this process.
    """
    found = _Memory.latest
    if version is None and not found.version:
        version = terms.version()
    if (version is not None and found.version < version) or len(found.by_id) > MOST:
        found = Known(version or found.version)
        _remember(found)
    missing = [one for one in set(ids) if one not in found.by_id]
    if missing:
        # read after the version: they may be later than it says, never earlier
        rows = Tenant.objects.select_related("throttle").filter(id__in=missing)
        read = {row.id: terms_of(row) for row in rows}
        if conf().default in missing:
            read.setdefault(conf().default, NOTHING)
        if not connection.in_atomic_block:
            found.by_id.update(read)
            return found
        # one that was made in a transaction that rolls back was never there
        transaction.on_commit(partial(found.by_id.update, read), robust=True)
        return Known(found.version, {**found.by_id, **read})
    return found


def is_known(tenant_id: str) -> bool:
    """Tell whether a tenant is there; the default one always is."""
    if not (conf().enabled and is_tenant_id(tenant_id, conf().default)):
        return False
    return tenant_id in known([tenant_id]).by_id


def _remember(found: Known) -> None:
    """Let the process go by this; not by a version that a transaction has raised but not committed.

    Others would take what they read, older than that, for it.
    """
    if not connection.in_atomic_block:
        _Memory.latest = found
    elif not _changing.get():
        transaction.on_commit(partial(_catch_up, found), robust=True)


def _catch_up(found: Known) -> None:
    if found.version > _Memory.latest.version:
        _Memory.latest = found


def shares(ids: Iterable[str]) -> tuple[int, dict[str, Terms]]:
    """Return the version of the terms, and the terms of tenants that are known by it."""
    wanted = set(ids)
    found = known(wanted)
    by_id = {**found.by_id, **_changing.get()}
    return found.version, {one: by_id[one] for one in wanted if one in by_id}


def apart(ids: Collection[str]) -> tuple[int, set[str]]:
    """Return the version of the terms, and the tenants that have a namespace of their own by it."""
    found = known(ids)
    by_id = {**found.by_id, **_changing.get()}
    return found.version, {
        one for one in ids if (by_id[one].is_apart if one in by_id else has_namespace(one, None))
    }


def has_namespace(tenant_id: str, isolation: str | None) -> bool:
    """Tell whether only workers of a tenant take its jobs; `isolation` null: as the settings say.

    The default tenant has none: its workers are those that name no tenant. Spec: MT 6.1, D-MT-6.
    """
    if not conf().enabled or tenant_id == conf().default:
        return False
    return settings_isolate() if isolation is None else isolation == NAMESPACE


def settings_isolate() -> bool:
    """Tell whether tenants that say nothing have namespaces."""
    return conf().isolation == NAMESPACE


@contextmanager
def as_if(changed: Mapping[str, Terms]) -> Iterator[None]:
    """Let `shares` and `apart` go by what the transaction of this context has changed."""
    token = _changing.set(changed)
    try:
        yield
    finally:
        _changing.reset(token)


def forget() -> None:
    """Read everything anew."""
    _Memory.cache_clear()


def terms_of(row: Tenant) -> Terms:
    """Return what a row says; NOTHING itself where that is nothing."""
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
    """Return what is taken from a row; it is read with its throttle."""
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
