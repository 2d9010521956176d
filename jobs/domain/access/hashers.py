"""Hash the secrets of API keys. Spec: contract 31.2.

A secret has 256 random bits, so the fast hash cannot be searched and is the default. The slow
hashes are for operators whose rules require one. A stored hash names its kind, so keys of all three
kinds work at the same time: SHA-256 is 32 bare bytes, and the slow hashes are text with parameters.
"""

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from functools import cache
from typing import TYPE_CHECKING, Final

from jobs.domain import extras

HASHERS: Final = ("sha256", "argon2", "scrypt")
SCRYPT: Final = b"$scrypt$"
ARGON2: Final = b"$argon2"
# 16 MiB and about 50 ms, as recommended for interactive logins
COST, BLOCK, LANES, SALT_BYTES, HASH_BYTES = 16_384, 8, 1, 16, 32
MEMORY: Final = 64 * 1024 * 1024  # more than a hash takes: OpenSSL's own bound is below that

if TYPE_CHECKING:
    from argon2 import PasswordHasher


def hashed(secret: str, hasher: str) -> bytes:
    """Return the hash of a secret in its stored form."""
    if hasher == "argon2":
        return _argon2().hash(secret).encode()
    if hasher == "scrypt":
        salt = secrets.token_bytes(SALT_BYTES)
        return b"$".join((SCRYPT[:-1], b64encode(salt), b64encode(_scrypt(secret, salt))))
    return fast(secret)


def fast(secret: str) -> bytes:
    """Return the SHA-256 of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def is_slow(stored: bytes) -> bool:
    """Return whether comparing with this hash takes long."""
    return stored.startswith((SCRYPT, ARGON2)) and len(stored) != hashlib.sha256().digest_size


def matches(secret: str, stored: bytes) -> bool:
    """Return whether this is the hash of the secret, in constant time."""
    if not is_slow(stored):
        return hmac.compare_digest(fast(secret), stored)
    if stored.startswith(SCRYPT):
        salt, expected = stored.removeprefix(SCRYPT).split(b"$")
        return hmac.compare_digest(_scrypt(secret, b64decode(salt)), b64decode(expected))
    return _matches_argon2(secret, stored)


def without_argon2() -> str | None:
    """Return the reason why Argon2 cannot be used, None if it can."""
    return extras.missing("the hash argon2 of API keys", "argon2")


def _matches_argon2(secret: str, stored: bytes) -> bool:
    hasher = _argon2()
    from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415

    try:
        return hasher.verify(stored, secret)
    except (VerificationError, InvalidHashError):
        return False


@cache
def _argon2() -> "PasswordHasher":
    """Return the hasher with the library's parameters, as in RFC 9106. Raises RuntimeError."""
    if problem := without_argon2():
        raise RuntimeError(problem)
    from argon2 import PasswordHasher  # noqa: PLC0415 - of the extra `server`

    return PasswordHasher()


def _scrypt(secret: str, salt: bytes) -> bytes:
    return hashlib.scrypt(
        secret.encode(), salt=salt, n=COST, r=BLOCK, p=LANES, maxmem=MEMORY, dklen=HASH_BYTES
    )
