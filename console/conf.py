"""Settings of the console: `settings.OJS_CONSOLE`, read once into a frozen object with defaults."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Settings by the lower-case keys of `settings.OJS_CONSOLE`."""

    read_only: bool = False  # refuses all changes in the console and Django's admin
    trace_url: str = ""  # link of a job to its trace, with places of `links.py`; empty: none
    log_url: str = ""  # link of a job to its log lines
    manual_url: str = ""  # address of the built manual, for runbooks of alerts; empty: no links


@cache
def conf() -> Conf:
    """Read the settings and ignore unknown keys."""
    raw: dict[str, Any] = getattr(settings, "OJS_CONSOLE", {})
    known = {field.name for field in fields(Conf)}
    return Conf(**{k.lower(): v for k, v in raw.items() if k.lower() in known})


read_anew(conf, setting="OJS_CONSOLE")
