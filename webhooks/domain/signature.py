"""Signatures of deliveries. Spec: contract 26, WH-4 to WH-6."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Final

PREFIX: Final = "whsec_"
MIN_SECRET, MAX_SECRET = 8, 256
SCHEME: Final = "sha256="


def new_secret() -> str:
    """Make a secret of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def sign(given: Iterable[str], timestamp: str, body: bytes) -> str:
    """Return the signature header: one signature per secret, the newest first."""
    message = timestamp.encode() + b"." + body
    return ",".join(
        SCHEME + hmac.new(secret.encode(), message, hashlib.sha256).hexdigest() for secret in given
    )
