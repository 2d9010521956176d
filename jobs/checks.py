"""System checks: a wrong setting stops the start instead of the first request."""

from dataclasses import fields
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from jobs import extensions
from jobs.conf import Conf, conf


@register("ojs")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Report unknown keys, impossible values and extensions that cannot be imported."""
    known = {field.name for field in fields(Conf)}
    found: list[CheckMessage] = [
        Error(f"OJS[{key!r}] is not a setting", id="ojs.E001")
        for key in getattr(settings, "OJS", {})
        if key.lower() not in known
    ]
    found += [
        Error(f"OJS[{field.name.upper()!r}] is {value!r}: use a positive number", id="ojs.E006")
        for field in fields(Conf)
        if type(field.default) is int
        and (type(value := getattr(conf(), field.name)) is not int or value < 1)
    ]
    if conf().auth not in {"apikey", "off"}:
        found.append(Error(f"OJS['AUTH'] is {conf().auth!r}: use apikey or off", id="ojs.E002"))
    if conf().auth == "off" and not (settings.DEBUG or conf().allow_insecure):
        found.append(
            Error("OJS['AUTH'] is off: set ALLOW_INSECURE, or use API keys", id="ojs.E003")
        )
    if conf().direct_database not in settings.DATABASES:
        found.append(
            Error(
                f"OJS['DIRECT_DATABASE'] is {conf().direct_database!r}: no such database",
                id="ojs.E005",
            )
        )
    try:
        extensions.installed()
    except (ImportError, TypeError) as problem:
        found.append(Error(f"OJS['EXTENSIONS']: {problem}", id="ojs.E004"))
    return found
