"""Copy the API keys, the limits and the stored answers of a tenant to another cell.

The functions `read` run in the old cell, `write` in the new cell. A repeated write changes nothing.
API keys are copied with the hashes of their secrets, and stay in the old cell: its refusals tell
producers about the move.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Model, QuerySet
from django.utils import timezone

from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict
from jobs.domain.lanes.limits import OF_KEY, LimitPolicy
from jobs.extensions import MoveHooks, implementers
from jobs.models import ApiKey, BulkAnswer, Limit, Start
from jobs.queries import LimitKey
from jobs.services.lanes import limits

PAGE: Final = 1_000  # rows of a table that are copied at once
KEY_MEMBERS: Final = tuple(
    field.attname for field in ApiKey._meta.local_fields if field.attname not in {"id", "prefix"}
)


@dataclass(frozen=True, slots=True)
class Access:
    """The keys and limits of a tenant, with the starts that its limits still count."""

    keys: Sequence[ApiKey]
    limits: Sequence[Limit]
    starts: Sequence[Start]


def read(tenant: str) -> Access:
    """Return the keys and limits of a tenant."""
    found = list(Limit.objects.filter(kind=OF_KEY, tenant=tenant).order_by("id"))
    return Access(
        list(ApiKey.objects.filter(tenant=tenant).order_by("id")),
        found,
        list(Start.objects.filter(limit_id__in=[one.id for one in found])),
    )


def used_prefixes(access: Access) -> list[str]:
    """Return the prefixes of keys that belong to other keys in this cell."""
    tenants = {key.prefix: key.tenant for key in access.keys}
    held = ApiKey.objects.filter(prefix__in=tenants).values_list("prefix", "tenant")
    return sorted(prefix for prefix, tenant in held if tenant != tenants[prefix])


def write(tenant: str, access: Access, caller: Caller) -> None:
    """Store keys and limits. In a transaction of the caller. Raises Conflict for a used prefix."""
    if used := used_prefixes(access):
        raise Conflict(f"another tenant has the API key ojs_{used[0]}_… in the new cell")
    for key in access.keys:
        ApiKey.objects.update_or_create(
            prefix=key.prefix, defaults={name: getattr(key, name) for name in KEY_MEMBERS}
        )
    named = {
        LimitKey(OF_KEY, tenant, one.key): LimitPolicy.from_row(one.policy)
        for one in access.limits
        if one.policy is not None
    }
    ids = limits.resolve(named) if named else {}
    here = {one.id: ids.get(LimitKey(OF_KEY, tenant, one.key)) for one in access.limits}
    for start in access.starts:
        if (limit_id := here[start.limit_id]) is not None:
            Start.objects.update_or_create(
                limit_id=limit_id, slot=start.slot, defaults={"at": start.at, "jobs": start.jobs}
            )
    for one in access.limits:
        _override(one, caller)


def _override(one: Limit, caller: Caller) -> None:
    """Apply the override of a limit of the old cell, unless it is over or applies already."""
    if one.override is None or (one.override_until and one.override_until <= timezone.now()):
        return
    stored = Limit.objects.filter(kind=one.kind, tenant=one.tenant, key=one.key).first()
    given = one.override, one.override_until
    if stored is None or (stored.override, stored.override_until) != given:
        policy = LimitPolicy.from_row(one.override)
        limits.override(one.key, policy, one.override_until, caller, one.tenant)


def pages(tenant: str) -> Iterator[list[Model]]:
    """Yield the rows of a tenant that are copied as they are, page by page, in the old cell."""
    yield from _pages(BulkAnswer.objects.filter(tenant=tenant, status__isnull=False))
    for extension in implementers(MoveHooks.moving_records):
        for table in extension.moving_records():
            yield from _pages(table._default_manager.filter(tenant=tenant))


def write_page(page: Sequence[Model]) -> None:
    """Store a page in the new cell; rows that it has stay."""
    type(page[0])._default_manager.bulk_create(page, ignore_conflicts=True)


def _pages(rows: QuerySet[Model]) -> Iterator[list[Model]]:
    page = list(rows.order_by("pk")[:PAGE])
    while page:  # each page begins behind the last
        last = page[-1].pk
        yield page
        page = list(rows.filter(pk__gt=last).order_by("pk")[:PAGE])
