"""The coding of this process, by the settings named in `SETTINGS`."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ojs_tasks.codecs.coding import Coding
from ojs_tasks.server import settings

FLAGS = ("ENCRYPT_RESULTS", "ENCRYPT_STATE")
SETTINGS = ("CODECS", *FLAGS, "CODEC_DIGEST_KEY")


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
    results, state = (_flag(options, name) for name in FLAGS)
    return Coding(codecs, results=results, state=state, digest_key=key)


def _flag(options: Mapping[str, Any], name: str) -> bool:
    found = options.get(name, False)
    if not isinstance(found, bool):
        raise ValueError(f"OJS[{name!r}] must be True or False")  # noqa: TRY004 - as above
    return found


def _is_codec(one: Any) -> bool:
    return not isinstance(one, type) and all(
        hasattr(one, name) for name in ("names", "encode", "decode")
    )
