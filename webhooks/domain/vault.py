"""Encrypts the secrets of subscriptions: signing needs them in clear. Spec: contract 26.2."""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


class Vault:
    """Seals and opens texts with a key derived from the server's."""

    def __init__(self, key: str) -> None:
        """Derive the key; the same text gives the same key everywhere."""
        derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"ojs webhook secrets")
        self._fernet = Fernet(base64.urlsafe_b64encode(derived.derive(key.encode())))

    def seal(self, text: str) -> bytes:
        """Encrypt a text."""
        return self._fernet.encrypt(text.encode())

    def open(self, sealed: bytes) -> str:
        """Decrypt a text. Raises ValueError when it was sealed with another key."""
        try:
            return self._fernet.decrypt(bytes(sealed)).decode()
        except InvalidToken:
            raise ValueError("the secret was encrypted with another key") from None
