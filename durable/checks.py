"""System checks, so that a wrong setting stops the start instead of the first save."""

from dataclasses import fields
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from durable.conf import MOST_BYTES, Conf, conf


@register("ojs")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Report unknown keys and impossible values."""
    known = {field.name for field in fields(Conf)}
    found: list[CheckMessage] = [
        Error(f"OJS_DURABLE[{key!r}] is not a setting", id="ojs.E090")
        for key in getattr(settings, "OJS_DURABLE", {})
        if key.lower() not in known
    ]
    most: object = conf().max_checkpoint_bytes
    if type(most) is not int or not 1 <= most <= MOST_BYTES:
        problem = f"must be a number from 1 to {MOST_BYTES}"
        found.append(Error(f"OJS_DURABLE['MAX_CHECKPOINT_BYTES'] {problem}", id="ojs.E091"))
    return found
