"""System checks: reject invalid settings at the start instead of at the first request."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from encryption.conf import Conf, conf

LONGEST_TOKEN_S = 3600


@register("ojs")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Report unknown keys and invalid values."""
    return list(_problems())


def _problems() -> Iterator[CheckMessage]:
    known = {field.name for field in fields(Conf)}
    for key in getattr(settings, "OJS_ENCRYPTION", {}):
        if key.lower() not in known:
            yield Error(f"OJS_ENCRYPTION[{key!r}] is not a setting", id="ojs_encryption.E001")
    url = urlsplit(conf().codec_server_url)
    if conf().codec_server_url and (url.scheme not in {"https", "http"} or not url.hostname):
        yield Error(
            "OJS_ENCRYPTION['CODEC_SERVER_URL'] is no address such as https://codec.example.org",
            id="ojs_encryption.E002",
        )
    seconds = conf().token_s
    if type(seconds) is not int or not 1 <= seconds <= LONGEST_TOKEN_S:
        yield Error(
            f"OJS_ENCRYPTION['TOKEN_S'] must be a number from 1 to {LONGEST_TOKEN_S}",
            id="ojs_encryption.E003",
        )
    if not all(isinstance(glob, str) and glob for glob in conf().require_encoded):
        yield Error(
            "OJS_ENCRYPTION['REQUIRE_ENCODED'] must be a list of job types, such as 'card.*'",
            id="ojs_encryption.E004",
        )
