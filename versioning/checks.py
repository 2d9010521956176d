"""System checks: reject invalid settings at the start instead of at the first request."""

from dataclasses import fields
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from versioning.conf import Conf, conf
from versioning.domain.compatibility import Compatibility, OnBreaking
from versioning.domain.schema import Mode

CHOICES = {
    "schema_validation": ("per-schema", *Mode),
    "schema_validate_unversioned": ("off", "latest"),
    "schema_compatibility": tuple(OnBreaking),
    "schema_compatibility_mode": tuple(Compatibility),
}
POSITIVE = ("held_after_ms", "max_versions")


@register("ojs")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Report unknown keys and invalid values."""
    known = {field.name for field in fields(Conf)}
    found: list[CheckMessage] = [
        Error(f"OJS_VERSIONING[{key!r}] is not a setting", id="ojs_versioning.E001")
        for key in getattr(settings, "OJS_VERSIONING", {})
        if key.lower() not in known
    ]
    found += [
        Error(
            f"OJS_VERSIONING[{name.upper()!r}] is {getattr(conf(), name)!r}: use a positive number",
            id="ojs_versioning.E002",
        )
        for name in POSITIVE
        if type(getattr(conf(), name)) is not int or getattr(conf(), name) < 1
    ]
    found += [
        Error(
            f"OJS_VERSIONING[{name.upper()!r}] is {getattr(conf(), name)!r}: "
            f"use one of {', '.join(allowed)}",
            id="ojs_versioning.E003",
        )
        for name, allowed in CHOICES.items()
        if getattr(conf(), name) not in allowed
    ]
    return found
