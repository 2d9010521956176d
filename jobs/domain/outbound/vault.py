"""Encrypt secrets that the server stores and has to send or sign with.

Spec: contract 26.2, 23.7. Each purpose has keys of its own, derived from the server's keys. A
secret that was encrypted for one purpose cannot be decrypted for another.
"""

import base64
from collections.abc import Sequence
from typing import NamedTuple

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


class Resealed(NamedTuple):
    """How many secrets were encrypted anew, and how many could not be decrypted."""

    done: int = 0
    lost: int = 0

    def plus(self, other: "Resealed") -> "Resealed":
        """Return the sums."""
        return Resealed(self.done + other.done, self.lost + other.lost)


class Vault:
    """Encrypts texts with the first key, and decrypts texts of any of the keys."""

    def __init__(self, keys: Sequence[str], purpose: str) -> None:
        """Derive the keys; the same text gives the same key everywhere."""
        self._fernet = MultiFernet([_derived(key, purpose) for key in keys])

    def seal(self, text: str) -> bytes:
        """Encrypt a text."""
        return self._fernet.encrypt(text.encode())

    def open(self, sealed: bytes) -> str:
        """Decrypt a text. Raises ValueError if none of the keys encrypted it."""
        try:
            return self._fernet.decrypt(bytes(sealed)).decode()
        except InvalidToken:
            raise ValueError("the secret was encrypted with another key") from None

    def reseal(self, sealed: bytes) -> bytes:
        """Encrypt an encrypted text anew with the first key. Raises ValueError as `open` does."""
        return self.seal(self.open(sealed))


def _derived(key: str, purpose: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode())
    return Fernet(base64.urlsafe_b64encode(derived.derive(key.encode())))
