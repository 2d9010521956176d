"""Settings of the app: `settings.OJS_SCHEDULING`, read once into a frozen object with defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Settings under their keys in lower case; durations are milliseconds."""

    # strategy of claims without a pool; the configuration of the API overrides it
    default_strategy: str = "round-robin"
    # "queue" or "global": where priorities compete; the configuration of the API overrides it
    priority_scope: str = "queue"
    require_pool: bool = False  # refuse workers that name no pool
    # pools in the format of PUT, each with a `name`; the API shows them and cannot change them
    pools: tuple[Mapping[str, Any], ...] = ()
    turns_kept_ms: int = 86_400_000  # how long the rotation of an unused list of queues is kept


@cache
def conf() -> Conf:
    """Read the settings; `checks.py` reports unknown keys."""
    raw = getattr(settings, "OJS_SCHEDULING", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    if "pools" in chosen:
        chosen["pools"] = tuple(chosen["pools"])
    return Conf(**chosen)


read_anew(conf, setting="OJS_SCHEDULING")
