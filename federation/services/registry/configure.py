"""Change the registry: regions and the rules of the federation. Spec: contract 23.2, 23.5.

Every change locks the row of the configuration first. So the rules over all regions (exactly one
hub, a registered local region) hold at each commit.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from federation import models
from federation.conf import conf
from federation.domain.errors import FederationConfigError
from federation.domain.reading import SETTINGS_ONLY, read_given_auth, read_region
from federation.domain.region import REFERENCES, Auth, AuthKind, Region, is_host
from federation.services.registry import registry
from federation.services.registry.documents import CONFIG, FEDERATION, REGION
from federation.services.registry.outbound import ALLOWED_BY, is_refused
from federation.services.registry.registry import LOCAL
from jobs.database import on_commit
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.outbound.address import literal
from jobs.extensions import Document
from jobs.services.audit.config_log import Subject, configured, recorded

logger = logging.getLogger("ojs.federation")

SETTING = "can be set by OJS_FEDERATION_LOCAL_REGION only"
# "none" with a token: processes of release 0.1 would refuse "bearer" without a reference
NO_REFERENCES = {"auth_kind": str(AuthKind.NONE), **dict.fromkeys(REFERENCES)}


def put_region(
    wanted: Region, caller: Caller = SYSTEM, *, must_be_new: bool = False
) -> tuple[models.Region, bool]:
    """Register or replace a region; returns it and whether it is new.

    Raises FederationConfigError, and Conflict for an existing region that must be new.
    """
    with _changing(caller, Subject(REGION, wanted.id), "federation.region_configured") as data:
        row = models.Region.objects.filter(id=wanted.id).first()
        if must_be_new and row is not None:
            raise Conflict(
                f"region {wanted.id} is registered already",
                details={"resource_type": "region", "resource_id": wanted.id},
            )
        data.update(_put(wanted, row))
    return find(wanted.id), row is None


def change_region(
    region_id: str, changed: Callable[[Region], Region], caller: Caller = SYSTEM
) -> models.Region:
    """Replace a region by the result of `changed`. Raises NotFound, FederationConfigError."""
    with _changing(caller, Subject(REGION, region_id), "federation.region_configured") as data:
        row = find(region_id)
        data.update(_put(changed(registry.region_of(row)), row))
    return find(region_id)


def _put(wanted: Region, row: models.Region | None) -> dict[str, Any]:
    """Store a region from an operator; returns the data for the audit log."""
    is_new = _write(wanted.id, _options(wanted) | _address(wanted, row))
    drain, enabled = wanted.drain, wanted.enabled
    return {"is_new": is_new, "url": wanted.url, "drain": drain, "enabled": enabled}


def judge(wanted: Region) -> None:
    """Refuse a region that cannot be stored by itself. Raises FederationConfigError."""
    _address(wanted, models.Region.objects.filter(id=wanted.id).first())


def _address(wanted: Region, row: models.Region | None) -> dict[str, Any]:
    """Return the columns of the address and the credentials; empty: they stay unchanged."""
    if row is not None and row.source == models.Source.STATIC:
        _require_as_stated(wanted, row)
        return {}
    require_reachable(wanted, allow_local=conf().allow_private)
    if names := wanted.auth.references:
        raise FederationConfigError.field(f"auth.{names[0]}", SETTINGS_ONLY)
    own = {"url": wanted.url, "allow_insecure": wanted.allow_insecure}
    return own | _credentials(wanted, row)


def _require_as_stated(wanted: Region, row: models.Region) -> None:
    """Refuse to change the address or the credentials of a region of the settings.

    Otherwise a caller with the right to change regions could have its credentials sent to another
    server.
    """
    current = registry.region_of(row)
    is_same_auth = wanted.auth == current.auth or _is_kept(wanted.auth, current.auth)
    for name, is_same in (
        ("url", wanted.url == current.url),
        ("auth", is_same_auth),
        ("allow_insecure", wanted.allow_insecure == current.allow_insecure),
    ):
        if not is_same:
            raise FederationConfigError.field(name, "can be set in OJS_FEDERATION_REGIONS only")


def _is_kept(wanted: Auth, current: Auth) -> bool:
    """Return whether only the kind of credentials is given: the stored credentials stay."""
    return wanted.missing is not None and wanted.kind is current.kind


def _credentials(wanted: Region, row: models.Region | None) -> dict[str, Any]:
    """Return the columns of the credentials of a region; empty: they stay unchanged.

    Raises FederationConfigError if there are none to keep, or if they are for another server.
    """
    given = wanted.auth
    if given.missing is None:
        token = None if given.token is None else registry.vault().seal(given.token.text)
        return {"sealed_token": token, **NO_REFERENCES}
    current = None if row is None else registry.region_of(row)
    if current is None or current.auth == Auth():
        raise FederationConfigError.field("auth.token", given.missing)
    if current.auth.missing not in {None, given.missing}:
        raise FederationConfigError.field("auth.token", current.auth.missing)
    if current.origin != wanted.origin:
        raise FederationConfigError.field("auth.token", "must be given again if the server changes")
    return {}


def set_drain(region_id: str, caller: Caller = SYSTEM, *, drain: bool) -> models.Region:
    """Stop or resume the routing of new jobs to a region. Raises NotFound."""
    verb = "drained" if drain else "undrained"
    with _changing(caller, Subject(REGION, region_id), f"federation.region_{verb}"):
        find(region_id)
        models.Region.objects.filter(id=region_id).update(drain=drain, updated_at=Now())
    return find(region_id)


def delete_region(region_id: str, caller: Caller = SYSTEM) -> None:
    """Remove a region from the registry. Raises NotFound, and Conflict if it must stay."""
    with _changing(caller, Subject(REGION, region_id), "federation.region_deleted") as data:
        row = find(region_id)
        if kept := obstacle(row):
            raise kept
        data["url"] = row.url
        models.Region.objects.filter(id=region_id).delete()


def obstacle(row: models.Region) -> Conflict | None:
    """Return why a region cannot be deleted, None when it can."""
    if row.id == conf().said.get(LOCAL):
        why = "is the local region"
    elif row.source == models.Source.STATIC:
        why = "is defined in the settings"
    else:
        return None
    details = {"resource_type": "region", "resource_id": row.id}
    return Conflict(f"region {row.id} cannot be deleted: it {why}", details=details)


def find(region_id: str) -> models.Region:
    """Return a region with its health. Raises NotFound."""
    found = rows().filter(id=region_id).first() if "\0" not in region_id else None
    if found is None:
        raise NotFound.of("region", region_id)
    return found


def rows() -> QuerySet[models.Region]:
    """Return all regions with their health, by id."""
    return models.Region.objects.select_related("health", "load").order_by("id")


def configuration() -> dict[str, Any]:
    """Return the members of the configuration that are set, without defaults."""
    return registry.said(_row())


def put_configuration(given: Mapping[str, Any], caller: Caller = SYSTEM) -> None:
    """Replace the configuration that operators set.

    Raises FederationConfigError if it does not fit the regions.
    """
    with _changing(caller, Subject(CONFIG, FEDERATION), "federation.config_changed") as data:
        local = conf().said.get(LOCAL)
        if given.get(LOCAL) not in (None, local):
            raise FederationConfigError.field(LOCAL, SETTING)
        members = {name: value for name, value in given.items() if name != LOCAL}
        _require_sound({**conf().said, **members}, _regions())
        models.FederationConfig.objects.filter(id=1).update(said=members)
        data["config"] = members


def _require_sound(given: dict[str, Any], known: dict[str, Region]) -> None:
    """Check the members by themselves, if the local region is not registered yet."""
    local = given.get(LOCAL, "unsaid")
    if local in known:
        registry.build(given, known)
        return
    unsaid = Region(local, "https://unsaid.invalid", is_hub=True)
    registry.build({**given, LOCAL: local}, {local: unsaid})
    problem = "must be registered first" if LOCAL in given else SETTING
    raise FederationConfigError.field(LOCAL, problem, given.get(LOCAL))


# --- the history ----------------------------------------------------------------------------------


def restore_region(name: str, _: str | None, document: Document | None, caller: Caller) -> None:
    """Restore a region with its present credentials; None: delete it.

    A region drains or not as before. Raises as `put_region` and `delete_region`.
    """
    if document is None:
        delete_region(name, caller)
        return
    row = models.Region.objects.filter(id=name).first()
    given = {**document, "id": name, "drain": row is not None and row.drain}
    put_region(read_region(given, read_given_auth), caller)


def restore_configuration(
    _: str, __: str | None, document: Document | None, caller: Caller
) -> None:
    """Restore the configuration of operators; None: the settings decide all members."""
    put_configuration(dict(document or {}), caller)


# --- the settings ---------------------------------------------------------------------------------


def apply_settings() -> int:
    """Register the regions of the settings if the settings changed; returns how many.

    Changes by operators stay until the settings change, too. A region that is removed from the
    settings belongs to the operators from then on.
    """
    stated = [dict(one) for one in conf().regions]
    row = _row()
    if stated == (row.settings if row else []):
        return 0
    found = [read_region(one) for one in stated]
    with _changing(SYSTEM, Subject(CONFIG, FEDERATION), "federation.settings_applied"):
        before = {one["id"]: one for one in (_row() or models.FederationConfig()).settings}
        left = models.Region.objects.filter(source=models.Source.STATIC)
        left.exclude(id__in=[one.id for one in found]).update(source=models.Source.DYNAMIC)
        changed = [one for one, raw in zip(found, stated, strict=True) if before.get(one.id) != raw]
        for one in changed:
            require_reachable(one)
            with recorded(SYSTEM, Subject(REGION, one.id), "federation.settings_applied"):
                _store_stated(one)
        models.FederationConfig.objects.filter(id=1).update(settings=stated)
    return len(changed)


# --- storing --------------------------------------------------------------------------------------


def require_reachable(wanted: Region, *, allow_local: bool = True) -> None:
    """Refuse plain HTTP to another machine, and addresses where no region may be.

    `allow_local`: the region may be on this machine, as regions of the settings may. The addresses
    of a name are checked when a connection is made. Raises FederationConfigError. Spec: federation
    7.1.
    """
    host = urlsplit(wanted.url).hostname or ""
    if not is_host(host):
        raise FederationConfigError.field("url", "must have a host name or an address")
    if wanted.is_loopback and not allow_local:
        raise FederationConfigError.field("url", f"must not be on this machine: {ALLOWED_BY}")
    address = literal(host)
    if address is not None and not wanted.is_loopback and is_refused(address):
        raise FederationConfigError.field("url", f"must be at a public address: {ALLOWED_BY}")
    if wanted.is_insecure and not (settings.DEBUG or wanted.is_loopback):
        raise FederationConfigError.field(
            "url", "must use https: plain HTTP is for this machine only"
        )


@contextmanager
def _changing(caller: Caller, subject: Subject, action: str) -> Iterator[dict[str, Any]]:
    """Run the block, check the whole configuration, and record the change."""
    with configured(caller, subject, action, target=subject.name[:64]) as data:
        models.FederationConfig.objects.get_or_create(id=1)
        row = models.FederationConfig.objects.select_for_update().get(id=1)
        yield data
        given, known = configuration(), _regions()
        if given.get(LOCAL) in known:  # else there is no federation yet
            registry.build(given, known)
        row.version += 1
        row.updated_at = Now()
        row.save(update_fields=["version", "updated_at"])
        on_commit(registry.cache.clear, robust=True)
    registry.cache.clear()


def _options(wanted: Region) -> dict[str, Any]:
    """Return the columns that operators may set for any region."""
    return {
        "weight": wanted.weight, "tags": list(wanted.tags), "is_hub": wanted.is_hub,
        "enabled": wanted.enabled, "drain": wanted.drain,
        "max_queue_depth": wanted.max_queue_depth, "updated_at": Now(),
    }  # fmt: skip


def _store_stated(wanted: Region) -> None:
    """Store a region of the settings. References are for processes of release 0.1."""
    auth = wanted.auth
    members = {
        **_options(wanted), "url": wanted.url, "allow_insecure": wanted.allow_insecure,
        "auth_kind": str(auth.kind), **{name: getattr(auth, name) for name in REFERENCES},
        "sealed_token": None, "source": models.Source.STATIC,
    }  # fmt: skip
    _write(wanted.id, members)


def _write(region_id: str, members: dict[str, Any]) -> bool:
    """Store the columns of a region; returns whether it is new."""
    _, is_new = models.Region.objects.update_or_create(id=region_id, defaults=members)
    if is_new:
        models.RegionHealth.objects.create(region_id=region_id)
    return is_new


def _row() -> models.FederationConfig | None:
    return models.FederationConfig.objects.filter(id=1).first()


def _regions() -> dict[str, Region]:
    return {row.id: registry.region_of(row) for row in models.Region.objects.order_by("id")}
