"""System checks: a wrong setting stops the start instead of the first routed job."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from federation.conf import Conf, conf
from federation.domain.errors import FederationConfigError
from federation.domain.reading import read_regions
from federation.domain.region import check_id
from federation.services.registry.configure import require_reachable
from federation.services.registry.registry import build
from federation.services.replication.dedupe import MODES


@register("ojs")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Report unknown keys, impossible values, and an inconsistent federation.

    The rules are the rules of the API. Without regions in the settings, the database has the
    regions, and each change of them checks the rules.
    """
    known = {field.name for field in fields(Conf)}
    found = [
        _error("E001", key, "is not a setting")
        for key in getattr(settings, "OJS_FEDERATION", {})
        if key.lower() not in known
    ]
    if type(conf().refresh_ms) is not int or conf().refresh_ms < 0:
        found.append(_error("E002", "refresh_ms", "must be a number from 0 on"))
    if conf().dedupe not in MODES:
        found.append(_error("E005", "dedupe", f"must be one of {', '.join(MODES)}"))
    found += [
        _error("E006", name, "must be a positive number of milliseconds")
        for name in ("dedupe_window_ms", "copies_retention_ms")
        if type(value := getattr(conf(), name)) is not int or value < 1
    ]
    return [*found, *_federation()]


def _federation() -> Iterator[CheckMessage]:
    given = conf().said
    try:
        regions = read_regions(conf().regions)
        for one in regions:
            require_reachable(one)
    except FederationConfigError as problem:
        yield _error("E003", "regions", f": {problem.message}")
        return
    local = given.get("local_region")
    try:
        if local is not None:
            check_id("local_region", local)
        if regions and local:
            build(given, {one.id: one for one in regions})
    except FederationConfigError as problem:
        yield _error("E004", "config", f": {problem.message}")


def _error(number: str, name: str, problem: str) -> CheckMessage:
    return Error(f"OJS_FEDERATION[{name.upper()!r}] {problem}", id=f"ojs_federation.{number}")
