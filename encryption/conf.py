"""Settings of encryption: `settings.OJS_ENCRYPTION`, read once into a frozen object."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Settings under their keys in lower case."""

    require_encoded: tuple[str, ...] = ()  # globs of job types that refuse plaintext
    codec_server_url: str = ""  # of `manage.py codecserver`, as browsers of operators reach it
    token_s: int = 120  # how long an operator may decode the arguments of a job


@cache
def conf() -> Conf:
    """Read the settings; `checks.py` reports unknown keys."""
    raw = getattr(settings, "OJS_ENCRYPTION", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    if "require_encoded" in chosen:
        chosen["require_encoded"] = tuple(chosen["require_encoded"])
    return Conf(**chosen)


read_anew(conf, setting="OJS_ENCRYPTION")
