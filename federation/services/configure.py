"""Change the registry: regions and the rules of the federation. Spec: contract 23 §2, §5.

Every change locks the row of the configuration first, so that what holds for all regions together
(exactly one hub, a local region that is registered) holds at each commit.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from federation import models
from federation.conf import conf
from federation.domain.errors import FederationConfigError
from federation.domain.reading import read_region
from federation.domain.region import Region, check_id
from federation.services import registry
from federation.services.outbound import ALLOWED_BY, is_refused
from jobs.domain.address import literal
from jobs.domain.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, NotFound
from jobs.services.audit import audited

logger = logging.getLogger("ojs.federation")


def put_region(
    wanted: Region, caller: Caller = SYSTEM, *, must_be_new: bool = False
) -> tuple[models.Region, bool]:
    """Register a region in place of what was said before; returns it and whether it is new.

    Raises FederationConfigError, and Conflict for one that is there already but must be new.
    """
    require_reachable(wanted)
    with _changing(caller, "federation.region_configured", wanted.id) as data:
        row, is_new = _store(wanted)
        if must_be_new and not is_new:
            raise Conflict(
                f"region {wanted.id} is registered already",
                details={"resource_type": "region", "resource_id": wanted.id},
            )
        data |= {"is_new": is_new, "url": row.url, "drain": row.drain, "enabled": row.enabled}
    return find(wanted.id), is_new


def set_drain(region_id: str, caller: Caller = SYSTEM, *, drain: bool) -> models.Region:
    """Let a region take no new jobs, or take them again. Raises NotFound."""
    verb = "drained" if drain else "undrained"
    with _changing(caller, f"federation.region_{verb}", region_id):
        find(region_id)
        models.Region.objects.filter(id=region_id).update(drain=drain, updated_at=Now())
    return find(region_id)


def delete_region(region_id: str, caller: Caller = SYSTEM) -> None:
    """Take a region out of the registry. Raises NotFound, and Conflict where it must stay."""
    with _changing(caller, "federation.region_deleted", region_id) as data:
        row = find(region_id)
        if kept := obstacle(row):
            raise kept
        data["url"] = row.url
        models.Region.objects.filter(id=region_id).delete()


def obstacle(row: models.Region) -> Conflict | None:
    """Return why a region cannot be deleted, None when it can."""
    if row.id == registry.said(_row()).get("local_region"):
        why = "is the local one"
    elif row.source == models.Source.STATIC:
        why = "is one of the settings"
    else:
        return None
    details = {"resource_type": "region", "resource_id": row.id}
    return Conflict(f"region {row.id} cannot be deleted: it {why}", details=details)


def find(region_id: str) -> models.Region:
    """Return a region with how it is. Raises NotFound."""
    found = rows().filter(id=region_id).first() if "\0" not in region_id else None
    if found is None:
        raise NotFound.of("region", region_id)
    return found


def rows() -> QuerySet[models.Region]:
    """Return all regions with how they are, by id."""
    return models.Region.objects.select_related("health", "load").order_by("id")


def configuration() -> dict[str, Any]:
    """Return the members that somebody said of the federation as a whole."""
    return registry.said(_row())


def put_configuration(given: Mapping[str, Any], caller: Caller = SYSTEM) -> None:
    """Say something of the federation as a whole in place of what operators said before.

    Raises FederationConfigError where it does not fit the regions.
    """
    with _changing(caller, "federation.config_changed", "federation") as data:
        _require_sound({**conf().said, **given}, _regions())
        models.FederationConfig.objects.filter(id=1).update(said=dict(given))
        data["config"] = dict(given)


def _require_sound(given: dict[str, Any], known: dict[str, Region]) -> None:
    """Judge the members before what they name, where there is no region yet."""
    if not known and isinstance(local := given.get("local_region"), str):
        check_id("local_region", local)
        registry.build(given, {local: Region(local, "https://unsaid.invalid", is_hub=True)})
        raise FederationConfigError.field("local_region", "must name registered regions", local)
    registry.build(given, known)


# --- the settings ---------------------------------------------------------------------------------


def apply_settings() -> int:
    """Register the regions of the settings where these say something new; returns how many.

    What operators changed since stays until the settings change, too. A region that is in the
    settings no more is an operator's from then on.
    """
    stated = [dict(one) for one in conf().regions]
    row = _row()
    if stated == (row.settings if row else []):
        return 0
    found = [read_region(one) for one in stated]
    with _changing(SYSTEM, "federation.settings_applied", "federation"):
        before = {one["id"]: one for one in (_row() or models.FederationConfig()).settings}
        left = models.Region.objects.filter(source=models.Source.STATIC)
        left.exclude(id__in=[one.id for one in found]).update(source=models.Source.DYNAMIC)
        changed = [one for one, raw in zip(found, stated, strict=True) if before.get(one.id) != raw]
        for one in changed:
            require_reachable(one)
            _store(one, source=models.Source.STATIC)
        models.FederationConfig.objects.filter(id=1).update(settings=stated)
    return len(changed)


# --- storing --------------------------------------------------------------------------------------


def require_reachable(wanted: Region) -> None:
    """Refuse plain HTTP to another machine, and addresses where no region may be.

    A name is judged by its addresses when a connection is made. Raises FederationConfigError.
    Spec: federation 7.1.
    """
    host = urlsplit(wanted.url).hostname or ""
    address = literal(host)
    if address is not None and not wanted.is_loopback and is_refused(address):
        raise FederationConfigError.field("url", f"must be at a public address: {ALLOWED_BY}")
    if wanted.is_insecure and not (settings.DEBUG or wanted.is_loopback):
        raise FederationConfigError.field(
            "url", "must use https: plain HTTP is for this machine only"
        )


@contextmanager
def _changing(caller: Caller, action: str, target: str) -> Iterator[dict[str, Any]]:
    """Do what the block does if the whole makes sense afterwards, and record it."""
    with audited(caller, action, target[:64]) as data:
        models.FederationConfig.objects.get_or_create(id=1)
        row = models.FederationConfig.objects.select_for_update().get(id=1)
        yield data
        given = configuration()
        if given.get("local_region"):
            registry.build(given, _regions())
        row.version += 1
        row.updated_at = Now()
        row.save(update_fields=["version", "updated_at"])
        transaction.on_commit(registry.forget, robust=True)
    registry.forget()


def _store(wanted: Region, *, source: models.Source | None = None) -> tuple[models.Region, bool]:
    auth = wanted.auth
    members: dict[str, Any] = {
        "url": wanted.url, "weight": wanted.weight, "tags": list(wanted.tags),
        "is_hub": wanted.is_hub, "enabled": wanted.enabled, "drain": wanted.drain,
        "max_queue_depth": wanted.max_queue_depth, "auth_kind": str(auth.kind),
        "token_ref": auth.token_ref, "cert_ref": auth.cert_ref, "key_ref": auth.key_ref,
        "ca_ref": auth.ca_ref, "allow_insecure": wanted.allow_insecure, "updated_at": Now(),
    }  # fmt: skip
    if source is not None:
        members["source"] = source
    row, is_new = models.Region.objects.update_or_create(id=wanted.id, defaults=members)
    if is_new:
        models.RegionHealth.objects.create(region=row)
    return row, is_new


def _row() -> models.FederationConfig | None:
    return models.FederationConfig.objects.filter(id=1).first()


def _regions() -> dict[str, Region]:
    return {row.id: registry.region_of(row) for row in models.Region.objects.order_by("id")}
