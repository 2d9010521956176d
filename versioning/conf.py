"""The app's settings: `settings.OJS_VERSIONING` read once into a frozen object with defaults."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Names are the keys of `settings.OJS_VERSIONING` in lower case; durations: milliseconds."""

    keep_type_suffix: bool = False  # jobs that came as `type@version` keep that as their type
    require_declaration: bool = False  # workers that declare nothing get unversioned jobs alone
    held_after_ms: int = 30_000  # jobs that no worker accepts are told of after so long
    max_versions: int = 1_000  # of one job type; jobs with more are refused
    schema_validation: str = "per-schema"  # what holds for all types: or "strict", "warn", "off"
    schema_validate_unversioned: str = "off"  # or "latest": such jobs must fit the latest version
    schema_compatibility: str = "warn"  # what becomes of breaking changes: or "enforce", "off"
    schema_compatibility_mode: str = "backward"  # which break: or "none", "forward", "full"


@cache
def conf() -> Conf:
    """Read the settings; unknown keys are reported by `checks.py`, not here."""
    raw = getattr(settings, "OJS_VERSIONING", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    return Conf(**chosen)


read_anew(conf, setting="OJS_VERSIONING")
