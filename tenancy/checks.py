"""System checks: reject invalid settings at the start instead of at the first request."""

from collections.abc import Iterator
from dataclasses import fields
from math import isfinite
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from jobs.domain.errors import OJSError
from tenancy.conf import Conf, conf
from tenancy.domain.noise import Rules
from tenancy.domain.tenant import ISOLATIONS, NAMESPACE
from tenancy.domain.tenant_id import RULE, is_tenant_id, may_be_default
from tenancy.domain.tenant_request import parse_tenant
from tenancy.domain.throttle import OFF, Action

CHOICES = {
    "missing": ("default", "reject"),
    "unknown": ("auto_create", "reject"),
    "isolation": ISOLATIONS,
    "auto_throttle": (OFF, *(str(one) for one in Action)),
    "unscoped": ("all", "default"),
}
POSITIVE = ("full_retry_s", "throttle_ms", "noise_interval_ms")
LONGEST_MS = 366 * 86_400_000
MOST_LABELS = 10_000  # the limit of series of a metric
SOURCES = {"key", "header", "meta"}


@register("ojs")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Report unknown keys, invalid values and tenants that a request could not define either."""
    known = {field.name for field in fields(Conf)}
    found = [
        _error("E001", key, "is not a setting")
        for key in getattr(settings, "OJS_TENANCY", {})
        if key.lower() not in known
    ]
    found += [
        _error("E002", name, f"is {getattr(conf(), name)!r}: use one of {', '.join(allowed)}")
        for name, allowed in CHOICES.items()
        if getattr(conf(), name) not in allowed
    ]
    if not {"key"} <= set(conf().sources) <= SOURCES:
        found.append(
            _error("E003", "sources", "must be key, which always counts, and any of header, meta")
        )
    if not may_be_default(conf().default):
        found.append(_error("E004", "default", f"{RULE}; it may begin with '_'"))
    found += [
        _error("E005", name, "must be a positive number")
        for name in POSITIVE
        if type(getattr(conf(), name)) is not int or not 1 <= getattr(conf(), name) <= LONGEST_MS
    ]
    if type(conf().metrics_max) is not int or not 1 <= conf().metrics_max <= MOST_LABELS:
        found.append(_error("E010", "metrics_max", f"must be a number from 1 to {MOST_LABELS}"))
    return [*found, *_noise(), *_tenants()]


def _noise() -> Iterator[CheckMessage]:
    factor = conf().throttle_factor
    if not _is_number(factor) or not 0 < factor < 1:
        yield _error("E008", "throttle_factor", "must be a number between 0 and 1")
    for rule in fields(Rules):
        value = getattr(conf(), f"noise_{rule.name}")
        if not _is_number(value) or value < 0:
            yield _error("E009", f"noise_{rule.name}", "must be a number from 0 on")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _tenants() -> Iterator[CheckMessage]:
    ids = [raw.get("tenant_id") for raw in conf().tenants]
    for raw in conf().tenants:
        tenant_id = raw.get("tenant_id")
        if not isinstance(tenant_id, str) or not is_tenant_id(tenant_id, conf().default):
            yield _error("E006", "tenants", f"tenant_id {tenant_id!r} {RULE}")
            continue
        if tenant_id == conf().default and raw.get("isolation") == NAMESPACE:
            yield _error("E008", "tenants", f"{tenant_id}: the default tenant has no namespace")
        try:
            parse_tenant(tenant_id, raw)
        except OJSError as problem:
            yield _error("E006", "tenants", f"{tenant_id}: {problem.message}")
    if len({str(one) for one in ids}) < len(ids):
        yield _error("E007", "tenants", "names a tenant twice")


def _error(number: str, name: str, problem: str) -> CheckMessage:
    return Error(f"OJS_TENANCY[{name.upper()!r}] {problem}", id=f"ojs_tenancy.{number}")
