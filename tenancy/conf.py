"""Settings of the app: `settings.OJS_TENANCY`, read once into a frozen object with defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings

from jobs.conf import read_anew

SEQUENCES = ("sources", "tenants")


@dataclass(frozen=True, slots=True)
class Conf:
    """Settings under their keys in lower case."""

    enabled: bool = True  # off: headers and `meta` name no tenant; keys stay bound
    sources: tuple[str, ...] = ("key", "header", "meta")  # sources of a job's tenant
    missing: str = "default"  # tenant of jobs that name none: the default tenant, or "reject"
    default: str = "_default"  # id of the default tenant
    stamp_default: bool = False  # also write this id into `meta.tenant_id`
    unknown: str = "auto_create"  # tenants without a configuration; or "reject"
    isolation: str = "hybrid"  # default of tenants; or "shared" or "namespace"
    unscoped: str = "all"  # jobs that a request without a tenant sees and fetches; or "default"
    tenants: tuple[Mapping[str, Any], ...] = ()  # in the format of PUT, with `tenant_id`
    metrics_max: int = 1000  # tenants with labels of their own; the rest is `_other`
    label_all_metrics: bool = True  # all metrics of jobs and queues have tenant labels
    full_retry_s: int = 30  # Retry-After if a tenant holds too many jobs
    # value that is reduced for noisy tenants: "weight" or "concurrency"
    auto_throttle: str = "off"
    throttle_dry_run: bool = False  # emit events and audit entries only
    throttle_factor: float = 0.2  # remaining part of the value
    throttle_ms: int = 300_000  # duration after the last signal
    noise_interval_ms: int = 15_000
    # thresholds of noise, and minimums below which no signal counts; see domain/noise.py
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
        """Whether headers may name a tenant."""
        return self.enabled and "header" in self.sources


@cache
def conf() -> Conf:
    """Read the settings; `checks.py` reports unknown keys."""
    raw = getattr(settings, "OJS_TENANCY", {})
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    chosen |= {name: tuple(chosen[name]) for name in SEQUENCES if name in chosen}
    return Conf(**chosen)


read_anew(conf, setting="OJS_TENANCY")
