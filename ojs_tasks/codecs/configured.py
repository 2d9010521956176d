"""The coding of this process, by the settings CODECS, ENCRYPT_RESULTS and CODEC_DIGEST_KEY."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ojs_tasks.codecs.coding import Coding
from ojs_tasks.server import settings

SETTINGS = ("CODECS", "ENCRYPT_RESULTS", "CODEC_DIGEST_KEY")


@cache
def coding() -> Coding:
    """Return the coding. Raises ValueError for wrong settings."""
    return coding_of(settings())


def coding_of(options: Mapping[str, Any]) -> Coding:
    """Read the setting `OJS`. Raises ValueError."""
    codecs = options.get("CODECS", ())
    if not isinstance(codecs, list | tuple) or not all(map(_is_codec, codecs)):
        raise ValueError(
            "OJS['CODECS'] must be a list of codecs such as ojs_tasks.codecs.Encryption(ring)"
        )
    key = options.get("CODEC_DIGEST_KEY")
    if not isinstance(key, bytes | None):
        raise ValueError("OJS['CODEC_DIGEST_KEY'] must be bytes")  # noqa: TRY004 - one error of settings
    results = options.get("ENCRYPT_RESULTS", False)
    if not isinstance(results, bool):
        raise ValueError("OJS['ENCRYPT_RESULTS'] must be True or False")  # noqa: TRY004
    return Coding(codecs, results=results, digest_key=key)


def _is_codec(one: Any) -> bool:
    return not isinstance(one, type) and all(
        hasattr(one, name) for name in ("names", "encode", "decode")
    )
