"""The app's settings: `settings.OJS_SCHEDULING` read once into a frozen object with defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Names are the keys of `settings.OJS_SCHEDULING` in lower case; durations are milliseconds."""

    # of claims that no pool governs; the configuration of the API overrides it
    default_strategy: str = "round-robin"
    # "queue" or "global": where priorities compete; the configuration of the API overrides it
    priority_scope: str = "queue"
    require_pool: bool = False  # refuse workers that name no pool
    # pools as PUT takes them, with a name each; the API shows them and changes none
    pools: tuple[Mapping[str, Any], ...] = ()
    turns_kept_ms: int = 86_400_000  # of lists of queues that nobody has asked for since


@cache
def conf() -> Conf:
    """Read the settings; unknown keys are reported by `checks.py`, not here."""
    raw = getattr(settings, "OJS_SCHEDULING", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    if "pools" in chosen:
        chosen["pools"] = tuple(chosen["pools"])
    return Conf(**chosen)


read_anew(conf, setting="OJS_SCHEDULING")
