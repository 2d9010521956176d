"""The kinds of configuration of this app, and their documents for the history.

A document has no credentials, only their kind.
"""

from typing import Final

from federation import models
from federation.services.registry import registry
from jobs.extensions import ConfigKind, Document

FEDERATION: Final = "federation"  # the name of the only object of its kind


def _region(name: str, _: str | None) -> Document | None:
    row = models.Region.objects.filter(id=name).first()
    if row is None:
        return None
    region = registry.region_of(row)
    return {
        "url": region.url, "weight": region.weight, "tags": list(region.tags),
        "is_hub": region.is_hub, "enabled": region.enabled,
        "max_queue_depth": region.max_queue_depth, "auth": {"kind": str(region.auth.kind)},
        "allow_insecure": region.allow_insecure,
    }  # fmt: skip


def _federation(_: str, __: str | None) -> Document | None:
    row = models.FederationConfig.objects.filter(id=1).first()
    given = {} if row is None else {k: v for k, v in row.said.items() if k != registry.LOCAL}
    return given or None


REGION: Final = ConfigKind(
    "region", "Region", ("ojs_federation_region",), _region,
    "federation.services.registry.configure.restore_region",
    see="regions.see", change="regions.configure", delete="regions.delete",
)  # fmt: skip
CONFIG: Final = ConfigKind(
    "federation", "Federation", ("ojs_federation_config",), _federation,
    "federation.services.registry.configure.restore_configuration",
    see="regions.see", change="federation.configure",
)  # fmt: skip
KINDS: Final = (REGION, CONFIG)
