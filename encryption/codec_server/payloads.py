"""The body of requests to the codec server. Spec: contract 35."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import orjson

from ojs_tasks.codecs.coding import Coding, facts_of
from ojs_tasks.codecs.payload import KEY_ID, MOST_ENCODINGS, Payload

MOST: Final = 100  # payloads of a request
MOST_BYTES: Final = 4 * 1024 * 1024  # of a request
PLAIN: Final = "json/plain"


class BadPayload(ValueError):
    """The request has a wrong form; the message names the place."""


def read(body: bytes) -> list[tuple[Payload, Mapping[str, Any]]]:
    """Return the payloads with their metadata. Raises BadPayload."""
    try:
        raw = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadPayload("the body is no JSON") from None
    payloads = raw.get("payloads") if isinstance(raw, dict) else None
    if not isinstance(payloads, list) or not 1 <= len(payloads) <= MOST:
        raise BadPayload(f"payloads must be a list of 1 to {MOST}")
    return [_read(f"payloads[{place}]", one) for place, one in enumerate(payloads)]


def decoded(coding: Coding, payload: Payload, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload in plaintext. Raises CodecFailed or CodecKeyUnknown."""
    data = coding.decode(payload, _facts(payload, metadata))
    return _shown(data, {"encoding": PLAIN})


def encoded(coding: Coding, payload: Payload, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plaintext payload as producers would encode it."""
    found = coding.encode(payload.data, _facts(payload, metadata))
    if found is None:
        return _shown(payload.data, {"encoding": PLAIN})
    named = {"encoding": "+".join(found.encodings)}
    return _shown(found.data, {**named, "encryption_key_id": found.key_id})


def _read(place: str, raw: object) -> tuple[Payload, Mapping[str, Any]]:
    metadata = raw.get("metadata", {}) if isinstance(raw, dict) else None
    text = raw.get("data") if isinstance(raw, dict) else None
    if not isinstance(metadata, dict) or not isinstance(text, str):
        raise BadPayload(f"{place} needs the text data and the object metadata")
    values = {
        name: metadata.get(name)
        for name in ("encoding", "encryption_key_id", "job_type", "tenant_id")
    }
    for name, value in values.items():
        if not isinstance(value, str | None):
            raise BadPayload(f"{place}.metadata.{name} must be a text")
    names = tuple((values["encoding"] or PLAIN).split("+"))
    if len(names) > MOST_ENCODINGS:
        raise BadPayload(f"{place}.metadata.encoding has more than {MOST_ENCODINGS} names")
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise BadPayload(f"{place}.data is no base64") from None
    return Payload(names, data, values["encryption_key_id"]), values


def _facts(payload: Payload, metadata: Mapping[str, Any]) -> Any:
    meta = {"tenant_id": metadata["tenant_id"], KEY_ID: payload.key_id}
    return facts_of(meta, metadata["job_type"] or "")


def _shown(data: bytes, metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {"data": base64.b64encode(data).decode(), "metadata": dict(metadata)}
