"""System checks, so that a wrong setting stops the start instead of the first delivery."""

from dataclasses import fields
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from webhooks.conf import Conf, conf

LEAST_ATTEMPTS = 5  # contract 26, WH-8


@register("ojs")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Report unknown keys and impossible values."""
    known = {field.name for field in fields(Conf)}
    found: list[CheckMessage] = [
        Error(f"OJS_WEBHOOKS[{key!r}] is not a setting", id="ojs.E060")
        for key in getattr(settings, "OJS_WEBHOOKS", {})
        if key.lower() not in known
    ]
    try:
        chosen = conf()
    except ValueError:
        problem = "OJS_WEBHOOKS['RETRY_SCHEDULE_S'] must be whole numbers of seconds"
        return [*found, Error(problem, id="ojs.E061")]
    schedule = chosen.retry_schedule_s
    if len(schedule) < LEAST_ATTEMPTS or min(schedule) < 0:
        problem = f"must have at least {LEAST_ATTEMPTS} entries, none below 0"
        found.append(Error(f"OJS_WEBHOOKS['RETRY_SCHEDULE_S'] {problem}", id="ojs.E061"))
    found += [
        Error(f"OJS_WEBHOOKS[{field.name.upper()!r}] must be a positive number", id="ojs.E062")
        for field in fields(Conf)
        if type(field.default) is int
        and field.name != "redirects"
        and (type(value := getattr(chosen, field.name)) is not int or value < 1)
    ]
    return found
