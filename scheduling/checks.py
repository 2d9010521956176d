"""System checks: reject invalid settings at the start instead of at the first request."""

from dataclasses import fields
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from jobs.domain.dispatch.claim import STRATEGIES, PriorityScope
from jobs.domain.errors import OJSError
from scheduling.conf import Conf, conf
from scheduling.services.pool_cache import static_pools


@register("ojs")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Report unknown keys, unknown strategies and pools that a request could not define either."""
    known = {field.name for field in fields(Conf)}
    found: list[CheckMessage] = [
        Error(f"OJS_SCHEDULING[{key!r}] is not a setting", id="ojs_scheduling.E001")
        for key in getattr(settings, "OJS_SCHEDULING", {})
        if key.lower() not in known
    ]
    if conf().default_strategy not in STRATEGIES:
        found.append(
            Error(
                f"OJS_SCHEDULING['DEFAULT_STRATEGY'] is {conf().default_strategy!r}:"
                f" use one of {', '.join(STRATEGIES)}",
                id="ojs_scheduling.E002",
            )
        )
    if conf().priority_scope not in list(PriorityScope):
        found.append(
            Error(
                f"OJS_SCHEDULING['PRIORITY_SCOPE'] is {conf().priority_scope!r}:"
                f" use one of {', '.join(PriorityScope)}",
                id="ojs_scheduling.E006",
            )
        )
    if type(conf().turns_kept_ms) is not int or conf().turns_kept_ms < 1:
        found.append(
            Error(
                f"OJS_SCHEDULING['TURNS_KEPT_MS'] is {conf().turns_kept_ms!r}:"
                " use a positive number",
                id="ojs_scheduling.E003",
            )
        )
    try:
        names = [pool.name for pool in static_pools()]
    except OJSError as problem:
        found.append(Error(f"OJS_SCHEDULING['POOLS']: {problem.message}", id="ojs_scheduling.E004"))
    else:
        if len(set(names)) < len(names):
            found.append(
                Error("OJS_SCHEDULING['POOLS'] names a pool twice", id="ojs_scheduling.E005")
            )
    return found
