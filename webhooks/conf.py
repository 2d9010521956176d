"""Settings of webhooks: `settings.OJS_WEBHOOKS`, read once into a frozen object with defaults."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew


@dataclass(frozen=True, slots=True)
class Conf:
    """Settings by the lower-case keys of `settings.OJS_WEBHOOKS`; durations in milliseconds."""

    allow_http: bool = False
    allow_private: bool = False  # non-global addresses, for tests and closed networks
    secret_key: str = ""  # encrypts the secrets; if empty, Django's SECRET_KEY does
    # wait before each attempt in seconds, 0 for the first; after the last attempt a delivery is
    # dead
    retry_schedule_s: tuple[int, ...] = (0, 30, 120, 600, 3_600, 14_400, 43_200, 86_400)
    timeout_ms: int = 30_000  # of an attempt; a subscription may override it
    redirects: int = 3  # most redirects of an attempt; 0: none
    concurrency: int = 16  # simultaneous attempts of a process
    concurrency_per_subscription: int = 4
    disable_after: int = 50  # consecutive dead deliveries
    rotation_ms: int = 86_400_000  # how long the previous secret signs, too
    retention_ms: int = 2_592_000_000  # of ended deliveries


@cache
def conf() -> Conf:
    """Read the settings; `checks.py` reports unknown keys."""
    raw = getattr(settings, "OJS_WEBHOOKS", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    if "retry_schedule_s" in chosen:
        chosen["retry_schedule_s"] = tuple(map(int, chosen["retry_schedule_s"]))
    return Conf(**chosen)


read_anew(conf, setting="OJS_WEBHOOKS")
