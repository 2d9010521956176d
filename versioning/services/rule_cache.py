"""Cache the routing rules of this process and notice their changes.

All rules are read as of a configuration version (`jobs.services.lanes.configuration`), by one or
two statements, since few types have any. Each enqueue names the version that it follows from, and
stores nothing if that is not the latest. So rules take effect from their commit on, in every
process.
"""

from collections.abc import Mapping
from typing import NamedTuple

from jobs.caches import VersionedCache
from jobs.services.lanes import configuration
from versioning.domain.canary import Mode, OnNoWorker, Rules
from versioning.domain.canary_request import shares_of
from versioning.domain.version import Version, parse_version
from versioning.models import Apart, Routing, Schema

Compatible = dict[Version, frozenset[Version]]


class Parted(NamedTuple):
    """The version key of a split type's unversioned jobs; `is_done`: none is left under key 0."""

    route: int
    is_done: bool


class Routings(NamedTuple):
    """Rules by type and split types, as of one configuration version."""

    version: int
    by_type: Mapping[str, Rules]
    split_types: Mapping[str, Parted] = {}


def load(version: int | None) -> Routings:
    """Read all rules and split types after the version: they may be newer, never older."""
    if version is None:
        version = configuration.version()
    rows = Apart.objects.values_list("type", "route", "is_done")
    return Routings(version, read(), {row[0]: Parted(row[1], row[2]) for row in rows})


def read() -> dict[str, Rules]:
    """Read all rules."""
    rows = list(Routing.objects.all())
    compatible = _compatible([row.type for row in rows]) if rows else {}
    return {row.type: rules_of(row, compatible.get(row.type, {})) for row in rows}


def read_one(job_type: str) -> Rules | None:
    """Read the rules of a type."""
    row = Routing.objects.filter(type=job_type).first()
    return None if row is None else rules_of(row, _compatible([job_type]).get(job_type, {}))


def rules_of(row: Routing, compatible: Compatible) -> Rules:
    """Return stored rules."""
    return Rules(
        row.revision, shares_of(row.rules), Mode(row.mode), OnNoWorker(row.on_no_worker), compatible
    )


def _compatible(types: list[str]) -> dict[str, Compatible]:
    """Return by type which versions the registry lists as compatible with a version.

    Of the patches of a version, the latest decides.
    """
    rows = Schema.objects.filter(type__in=types).order_by("patch")
    found: dict[str, Compatible] = {}
    for row in rows.values_list("type", "major", "minor", "compatible_with"):
        versions = frozenset(parse_version(one) for one in row[3])
        found.setdefault(row[0], {})[Version(row[1], row[2])] = versions
    return found


cache = VersionedCache(load, setting="OJS_VERSIONING")
