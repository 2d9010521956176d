"""`Coding`: encode the arguments of drafts, and decode those of jobs, by the setting CODECS."""

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ojs_tasks.arguments import joined, split
from ojs_tasks.codecs.choices import Choice, chosen
from ojs_tasks.codecs.errors import CodecFailed, CodecKeyUnknown
from ojs_tasks.codecs.payload import (
    DIGEST,
    ENCODINGS,
    KEY_ID,
    Payload,
    is_encoded,
    unwrapped,
    wrapped,
)
from ojs_tasks.codecs.protocol import Codec, Facts
from ojs_tasks.documents import dumps, loads

LEAST_DIGEST_BYTES: Final = 16
RESULT: Final = Facts("")  # a later step decodes a result and does not know the job's type


class Coding:
    """The codecs of a project, in the order of encoding."""

    def __init__(
        self,
        codecs: Sequence[Codec],
        *,
        results: bool = False,
        state: bool = False,
        digest_key: bytes | None = None,
    ) -> None:
        """Take the codecs. Raises ValueError for two of one name, or a short key."""
        self._codecs = tuple(codecs)
        self._results = results
        self.encodes_state = state and bool(codecs)  # checkpoints, step results and signals
        self._digest_key = digest_key
        self._by_name: dict[str, Codec] = {}
        for codec in codecs:
            for name in codec.names:
                if name in self._by_name:
                    raise ValueError(f"CODECS has two codecs for {name}")
                self._by_name[name] = codec
        if digest_key is not None and len(digest_key) < LEAST_DIGEST_BYTES:
            raise ValueError(f"CODEC_DIGEST_KEY must have at least {LEAST_DIGEST_BYTES} bytes")

    def draft(self, draft: Mapping[str, Any], *, of_schedule: bool = False) -> Mapping[str, Any]:
        """Return the envelope with encoded arguments. Raises CodecKeyUnknown or ValueError.

        The jobs of a schedule always have the digest of their arguments.
        """
        meta = draft.get("meta") or {}
        choice = chosen(draft["type"])
        if not self._codecs or ENCODINGS in meta or choice.is_plain:
            return draft
        facts = facts_of(meta, draft["type"])
        args: Sequence[Any] = draft["args"]
        if choice.is_whole:
            coded, used = self._whole(args, facts)
        else:
            coded, used = self._selected(args, choice, facts)
        if used is None:
            return draft
        noted = {**meta, ENCODINGS: list(used.encodings)}
        if used.key_id is not None:
            noted[KEY_ID] = used.key_id
        if of_schedule or compares_args(draft.get("unique")):
            what = "has a schedule with arguments" if of_schedule else "is unique by its arguments"
            noted[DIGEST] = digest(self._key_of_digests(draft["type"], what), args)
        return {**draft, "args": coded, "meta": noted}

    def schedule(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the request of a schedule with encoded arguments. Raises as `draft`.

        Ciphertexts differ each time, so the digest tells whether the arguments have changed.
        """
        template = body["job_template"]
        if not template.get("args"):
            return body
        return {**body, "job_template": self.draft(template, of_schedule=True)}

    def check_schedule(self, body: Mapping[str, Any]) -> None:
        """Raise ValueError if the arguments of a schedule need a digest and no key is set."""
        template = body["job_template"]
        if self._codecs and template.get("args") and not chosen(template["type"]).is_plain:
            self._key_of_digests(template["type"], "has a schedule with arguments")

    def _key_of_digests(self, job_type: str, what: str) -> bytes:
        if self._digest_key is None:
            raise ValueError(
                f"job {job_type!r} {what}, and equal arguments never have equal ciphertexts: set"
                " OJS['CODEC_DIGEST_KEY']"
            )
        return self._digest_key

    def workflow(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the request of a workflow with encoded arguments in each of its jobs."""
        found = self.draft(body) if "args" in body else body
        for name in ("steps", "jobs"):
            if isinstance(found.get(name), Sequence):
                found = {**found, name: [self.workflow(step) for step in found[name]]}
        callbacks = found.get("callbacks")
        if isinstance(callbacks, Mapping):
            coded = {name: self.workflow(body) for name, body in callbacks.items()}
            found = {**found, "callbacks": coded}
        return found

    def args(self, args: Sequence[Any], meta: Mapping[str, Any], job_type: str) -> Sequence[Any]:
        """Return the decoded arguments of a job. Raises CodecFailed or CodecKeyUnknown."""
        facts = facts_of(meta, job_type)
        if len(args) == 1 and is_encoded(args[0]):
            found = self.value(args[0], facts)
            if not isinstance(found, list):
                raise CodecFailed("the encoded arguments are no list")
            return found
        positions, keywords = split(args)
        decoded = [self.value(one, facts) for one in positions]
        return joined(decoded, {name: self.value(one, facts) for name, one in keywords.items()})

    def result(self, result: Any, job_type: str) -> Any:
        """Return a result as it is to be stored. Raises ValueError for a value without JSON."""
        if not self._results or chosen(job_type).is_plain:
            return result
        payload = self.encode(dumps(result), RESULT)
        return result if payload is None else wrapped(payload)

    def decoded_result(self, result: Any) -> Any:
        """Return a stored result as the handler returned it. Raises as `value`."""
        return self.value(result, RESULT)

    def value(self, value: Any, facts: Facts) -> Any:
        """Return a decoded value; another value unchanged. Raises CodecFailed, CodecKeyUnknown."""
        if not is_encoded(value):
            return value
        try:
            return loads(self.decode(unwrapped(value), facts))
        except ValueError:
            raise CodecFailed("the decoded value is no JSON") from None

    def decode(self, payload: Payload, facts: Facts) -> bytes:
        """Return the bytes that were encoded. Raises CodecFailed or CodecKeyUnknown."""
        if payload.key_id is not None:
            facts = replace(facts, key_id=payload.key_id)
        data = payload.data
        for encoding in reversed(payload.encodings):
            data = self._codec(encoding).decode(encoding, data, facts)
        return data

    def _whole(self, args: Sequence[Any], facts: Facts) -> tuple[Sequence[Any], Payload | None]:
        payload = self.encode(dumps(list(args)), facts)
        return (args, None) if payload is None else ([wrapped(without_key(payload))], payload)

    def _selected(
        self, args: Sequence[Any], choice: Choice, facts: Facts
    ) -> tuple[Sequence[Any], Payload | None]:
        """Encode the chosen parameters. A lone positional one is encoded with the whole list."""
        used: list[Payload] = []

        def coded(value: Any) -> Any:
            payload = self.encode(dumps(value), facts)
            if payload is None:
                return value
            used.append(payload)
            return wrapped(without_key(payload))

        positions, keywords = split(args)
        found = joined(
            [coded(one) if n in choice.positions else one for n, one in enumerate(positions)],
            {name: coded(one) if name in choice.names else one for name, one in keywords.items()},
        )
        if len(found) == 1 and is_encoded(found[0]):
            return self._whole(args, facts)
        return found, max(used, key=lambda one: len(one.encodings), default=None)

    def encode(self, data: bytes, facts: Facts) -> Payload | None:
        """Return the encoded bytes; None if every codec was left out."""
        encodings: list[str] = []
        key_id = None
        for codec in self._codecs:
            found = codec.encode(data, facts)
            if found is not None:
                data = found.data
                encodings.append(found.encoding)
                key_id = found.key_id or key_id
        return Payload(tuple(encodings), data, key_id) if encodings else None

    def _codec(self, encoding: str) -> Codec:
        name = encoding.partition(";")[0]
        found = self._by_name.get(name)
        if found is None:
            known = ", ".join(self._by_name) or "none"
            raise CodecKeyUnknown(f"the value needs a codec that CODECS lacks; it has {known}")
        return found


def without_key(payload: Payload) -> Payload:
    """Return the payload as arguments have it: their key is named in `meta`."""
    return payload._replace(key_id=None)


def tenant_of(meta: Mapping[str, Any]) -> str:
    """Return the tenant of a job's meta, "" without one."""
    found = meta.get("tenant_id")
    return found if isinstance(found, str) else ""


def facts_of(meta: Mapping[str, Any], job_type: str) -> Facts:
    """Return the facts of a job that encoding and decoding may use."""
    key_id = meta.get(KEY_ID)
    name = job_type.partition("@")[0]
    return Facts(name, tenant_of(meta), key_id if isinstance(key_id, str) else None)


def compares_args(unique: Any) -> bool:
    """Return whether a unique policy covers arguments, by default too."""
    if not isinstance(unique, Mapping):
        return unique is not None
    named = unique.get("keys") or unique.get("dimensions") or unique.get("key") or ["args"]
    return "args" in named or unique.get("args_keys") is not None


def digest(key: bytes, args: Sequence[Any]) -> str:
    """Return an HMAC of arguments, equal for equal arguments, for unique jobs."""
    text = json.dumps(loads(dumps(list(args))), sort_keys=True, separators=(",", ":"))
    return hmac.digest(key, text.encode(), "sha256").hex()
