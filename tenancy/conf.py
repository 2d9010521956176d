"""The app's settings: `settings.OJS_TENANCY` read once into a frozen object with defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew

SEQUENCES = ("sources", "tenants")


@dataclass(frozen=True, slots=True)
class Conf:
    """Names are the keys of `settings.OJS_TENANCY` in lower case."""

    enabled: bool = True  # off: headers and `meta` name no tenant; keys stay bound
    sources: tuple[str, ...] = ("key", "header", "meta")  # what may name a tenant
    missing: str = "default"  # what becomes of jobs that name none; or "reject"
    default: str = "_default"  # whose they are
    stamp_default: bool = False  # write that into `meta.tenant_id`, too
    unknown: str = "auto_create"  # tenants that nobody configured; or "reject"
    isolation: str = "hybrid"  # of tenants that say nothing; or "shared" or "namespace"
    unscoped: str = "all"  # whose jobs a request without a tenant sees and fetches; or "default"
    tenants: tuple[Mapping[str, Any], ...] = ()  # as PUT takes them, with `tenant_id`
    metrics_max: int = 1000  # tenants that metrics tell apart, the others are `_other`
    label_all_metrics: bool = True  # all metrics of jobs and queues tell tenants apart
    full_retry_s: int = 30  # Retry-After where a tenant holds too many jobs
    # what is reduced of noisy tenants: "weight" or "concurrency"
    auto_throttle: str = "off"
    throttle_dry_run: bool = False  # tell and audit it, change nothing
    throttle_factor: float = 0.2  # what is left
    throttle_ms: int = 300_000  # for how long after the last signal
    noise_interval_ms: int = 15_000
    # when they are noisy: thresholds, and what has to be there at least; see domain/noise.py
    noise_depth_ratio: float = 10
    noise_enqueue_ratio: float = 5
    noise_active_ratio: float = 0.5
    noise_error_ratio: float = 3
    noise_min_queued: int = 100
    noise_min_per_second: float = 1
    noise_min_active: int = 10
    noise_min_outcomes: int = 20

    @property
    def reads_headers(self) -> bool:
        """Whether requests name tenants in headers."""
        return self.enabled and "header" in self.sources


@cache
def conf() -> Conf:
    """Read the settings; unknown keys are reported by `checks.py`, not here."""
    raw = getattr(settings, "OJS_TENANCY", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    chosen |= {name: tuple(chosen[name]) for name in SEQUENCES if name in chosen}
    return Conf(**chosen)


read_anew(conf, setting="OJS_TENANCY")
