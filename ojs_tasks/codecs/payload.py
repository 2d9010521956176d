"""Encoded values as a job carries them. Spec: contract 35."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ojs_tasks.arguments import joined, split
from ojs_tasks.codecs.errors import CodecFailed

MARK: Final = "ojs_encoded"
IN_TEXT: Final = b'"ojs_encoded"'  # no JSON text without it has an encoded value
ENCODINGS: Final = "ojs.codec.encodings"  # members of `meta`
KEY_ID: Final = "ojs.codec.key_id"
DIGEST: Final = "ojs.codec.digest"
MOST_ENCODINGS: Final = 8


class Payload(NamedTuple):
    """An encoded value; the names are in the order of encoding."""

    encodings: tuple[str, ...]
    data: bytes
    key_id: str | None = None  # of a result; arguments have it in `meta`


def is_encoded(value: Any) -> bool:
    """Return whether a JSON value is an encoded one."""
    return isinstance(value, Mapping) and value.get(MARK) is True


def has_encoded(args: Sequence[Any]) -> bool:
    """Return whether arguments have an encoded value: as a position or as a keyword."""
    positions, keywords = split(args)
    return any(map(is_encoded, positions)) or any(map(is_encoded, keywords.values()))


def compared(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a template of jobs as it is compared with another one.

    Equal arguments never have equal ciphertexts. If the template has their digest, it stands for
    them; the names of encodings and keys count, so that a new key encodes them anew.
    """
    if DIGEST not in (template.get("meta") or {}):
        return template
    positions, keywords = split(template.get("args") or [])
    shown = joined(
        [_form(one) for one in positions], {name: _form(one) for name, one in keywords.items()}
    )
    return {**template, "args": shown}


def _form(value: Any) -> Any:
    return {MARK: True, "encoding": value.get("encoding")} if is_encoded(value) else value


def may_be_encoded(text: str | bytes) -> bool:
    """Return whether a JSON text may hold an encoded value."""
    return IN_TEXT in (text.encode() if isinstance(text, str) else text)


def wrapped(payload: Payload) -> dict[str, Any]:
    """Return the JSON value."""
    shown: dict[str, Any] = {
        MARK: True,
        "encoding": "+".join(payload.encodings),
        "data": base64.b64encode(payload.data).decode(),
    }
    return shown if payload.key_id is None else {**shown, "key_id": payload.key_id}


def unwrapped(value: Mapping[str, Any]) -> Payload:
    """Read the JSON value. Raises CodecFailed."""
    encoding, text, key_id = value.get("encoding"), value.get("data"), value.get("key_id")
    if not isinstance(encoding, str) or not isinstance(text, str) or not encoding:
        raise CodecFailed("an encoded value needs the texts encoding and data")
    if not isinstance(key_id, str | None):
        raise CodecFailed("the key_id of an encoded value must be a text")
    names = tuple(encoding.split("+"))
    if len(names) > MOST_ENCODINGS:
        raise CodecFailed(f"a value has at most {MOST_ENCODINGS} encodings")
    try:
        return Payload(names, base64.b64decode(text, validate=True), key_id)
    except (binascii.Error, ValueError):
        raise CodecFailed("the data of the encoded value is no base64") from None
