"""The app's settings: `settings.OJS_FEDERATION` read once into a frozen object with defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Names are the keys of `settings.OJS_FEDERATION` in lower case."""

    local_region: str = ""  # id of this server's region; empty: from `config`
    config: Mapping[str, Any] = field(default_factory=dict)  # members of PUT …/config
    regions: tuple[Mapping[str, Any], ...] = ()  # members of POST
    allow_private: bool = False  # regions may have addresses that are not public
    refresh_ms: int = 1_000  # age after which a process reads the registry again
    dedupe: str = "header"  # by federation id: `header` on request, `always` or `off`
    dedupe_window_ms: int = 604_800_000  # how long a federation id is stored
    copies_retention_ms: int = 604_800_000  # of copies of jobs, from the end of the jobs

    @property
    def said(self) -> dict[str, Any]:
        """Return the members of the configuration that the settings set."""
        local = {"local_region": self.local_region} if self.local_region else {}
        return {**self.config, **local}


@cache
def conf() -> Conf:
    """Read the settings; unknown keys are reported by `checks.py`, not here."""
    raw = getattr(settings, "OJS_FEDERATION", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    if "regions" in chosen:
        chosen["regions"] = tuple(chosen["regions"])
    return Conf(**chosen)


read_anew(conf, setting="OJS_FEDERATION")
