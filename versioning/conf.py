"""Settings of the app: `settings.OJS_VERSIONING`, read once into a frozen object with defaults."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Settings under their keys in lower case; durations are milliseconds."""

    keep_type_suffix: bool = False  # jobs sent as `type@version` keep this as their type
    require_declaration: bool = False  # workers without a declaration get only unversioned jobs
    held_after_ms: int = 30_000  # time until jobs that no worker accepts are reported
    max_versions: int = 1_000  # of one job type; further versions are refused
    schema_validation: str = "per-schema"  # mode for all types: or "strict", "warn", "off"
    schema_validate_unversioned: str = "off"  # or "latest": such jobs must fit the latest version
    schema_compatibility: str = "warn"  # effect of breaking changes: or "enforce", "off"
    schema_compatibility_mode: str = "backward"  # changes that break: or "none", "forward", "full"


@cache
def conf() -> Conf:
    """Read the settings; `checks.py` reports unknown keys."""
    raw = getattr(settings, "OJS_VERSIONING", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    return Conf(**chosen)


read_anew(conf, setting="OJS_VERSIONING")
