"""`binary/encrypted`: AES-256-GCM. Spec: contract 35."""

import os
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from ojs_tasks.codecs.errors import CodecFailed
from ojs_tasks.codecs.keys import KeyRing
from ojs_tasks.codecs.protocol import Encoded, Facts

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VERSION: Final = b"\x01"
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
LEAST_BYTES: Final = len(VERSION) + NONCE_BYTES + TAG_BYTES
BINDABLE: Final = ("type", "tenant")
AAD: Final = ";aad="  # the parameter of the encoding's name, with the bound facts


class Encryption:
    """`binary/encrypted`: version, nonce, ciphertext and tag.

    `bind` names facts of the job that the tag covers, so that nobody can move a value to a job of
    another type or tenant. Other SDKs may not know it; so the default is none. A tenant can be
    bound only by producers that write `meta["tenant_id"]` themselves. Results are never bound.
    """

    names: Final = ("binary/encrypted",)

    def __init__(self, keys: KeyRing, *, bind: Sequence[str] = ()) -> None:
        """Take the keys. Raises ValueError for a fact that cannot be bound."""
        wrong = sorted(set(bind) - set(BINDABLE))
        if wrong:
            raise ValueError(f"Encryption binds {' and '.join(BINDABLE)}, not {wrong[0]!r}")
        self._keys = keys
        self._bound = self.names[0] + (AAD + ".".join(bind) if bind else "")

    def encode(self, data: bytes, facts: Facts) -> Encoded:
        """Return the encrypted bytes, with the id of the newest key."""
        key = self._keys.newest
        nonce = os.urandom(NONCE_BYTES)
        encoding = self._bound if facts.type else self.names[0]
        sealed = _cipher(key.secret).encrypt(nonce, data, bound(encoding, facts))
        return Encoded(encoding, VERSION + nonce + sealed, key.id)

    def decode(self, encoding: str, data: bytes, facts: Facts) -> bytes:
        """Return the decrypted bytes. Raises CodecFailed, or CodecKeyUnknown."""
        if len(data) < LEAST_BYTES or data[:1] != VERSION:
            raise CodecFailed("the encrypted value has an unknown version or is cut off")
        nonce, sealed = data[1 : 1 + NONCE_BYTES], data[1 + NONCE_BYTES :]
        cipher = _cipher(self._keys.key(facts.key_id).secret)
        try:
            return cipher.decrypt(nonce, sealed, bound(encoding, facts))
        except _invalid_tag():
            raise CodecFailed(
                "the encrypted value was changed, or belongs to another job"
            ) from None


def bound(encoding: str, facts: Facts) -> bytes | None:
    """Return the associated data of an encoding's name, None without any. Raises CodecFailed."""
    named = encoding.partition(AAD)[2]
    if not named:
        return None
    values = {"type": facts.type, "tenant": facts.tenant}
    names = named.split(".")
    if not values.keys() >= set(names):
        raise CodecFailed("the encrypted value is bound to unknown facts")
    return "\0".join(f"{name}={values[name]}" for name in names).encode()


@cache
def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - see `_cipher`

    return InvalidTag


@lru_cache(maxsize=64)
def _cipher(secret: bytes) -> "AESGCM":
    # imported late: processes without encryption need not load the library
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    return AESGCM(secret)
