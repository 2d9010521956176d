"""The webhooks' settings: `settings.OJS_WEBHOOKS` read once into a frozen object with defaults."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Names are the keys of `settings.OJS_WEBHOOKS` in lower case; durations are milliseconds."""

    allow_http: bool = False
    allow_private: bool = False  # addresses that are not global: for tests and closed networks
    secret_key: str = ""  # encrypts the secrets; without it Django's SECRET_KEY does
    # how long after an attempt the next one comes, the first at once; the last ends it
    retry_schedule_s: tuple[int, ...] = (0, 30, 120, 600, 3_600, 14_400, 43_200, 86_400)
    timeout_ms: int = 30_000  # of an attempt, unless the subscription says otherwise
    redirects: int = 3  # that are followed; 0: none
    concurrency: int = 16  # attempts under way per process
    concurrency_per_subscription: int = 4
    disable_after: int = 50  # dead deliveries in a row
    rotation_ms: int = 86_400_000  # how long the secret before signs, too
    retention_ms: int = 2_592_000_000  # of deliveries that are over


@cache
def conf() -> Conf:
    """Read the settings; unknown keys are reported by `checks.py`, not here."""
    raw = getattr(settings, "OJS_WEBHOOKS", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    if "retry_schedule_s" in chosen:
        chosen["retry_schedule_s"] = tuple(map(int, chosen["retry_schedule_s"]))
    return Conf(**chosen)


read_anew(conf, setting="OJS_WEBHOOKS")
