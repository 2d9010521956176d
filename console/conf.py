"""The console's settings: `settings.OJS_CONSOLE` read once into a frozen object with defaults."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Names are the keys of `settings.OJS_CONSOLE` in lower case."""

    read_only: bool = False  # nobody changes anything in the console or Django's admin


@cache
def conf() -> Conf:
    """Read the settings; unknown keys are left out."""
    raw: dict[str, Any] = getattr(settings, "OJS_CONSOLE", {})
    known = {field.name for field in fields(Conf)}
    return Conf(**{k.lower(): v for k, v in raw.items() if k.lower() in known})


read_anew(conf, setting="OJS_CONSOLE")
