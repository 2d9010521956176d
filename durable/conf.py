"""Settings of durable execution: `settings.OJS_DURABLE`, read once into a frozen object."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final

from django.conf import settings

from jobs.conf import read_anew

MOST_BYTES: Final = 1_048_576  # the bound of the specification; the setting may lower it


@dataclass(frozen=True, slots=True)
class Conf:
    """Settings by the lower-case keys of `settings.OJS_DURABLE`."""

    max_checkpoint_bytes: int = MOST_BYTES


@cache
def conf() -> Conf:
    """Read the settings; `checks.py` reports unknown keys."""
    raw = getattr(settings, "OJS_DURABLE", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    return Conf(**chosen)


read_anew(conf, setting="OJS_DURABLE")
