"""Tokens by which an operator's browser may ask the codec server. Spec: contract 35.

The console signs them with Django's SECRET_KEY, which the codec server shares. A token names the
user and the job, lives for minutes, and is for one codec server.
"""

from dataclasses import dataclass
from typing import Final

from django.core import signing

from encryption.conf import conf

SALT: Final = "ojs.encryption.codec-server"


class TokenRefused(Exception):
    """The token was changed, is too old, or is for another codec server."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """The right to decode the values of one job."""

    user_id: int
    job_id: str
    reason: str


def issue(decoding: Decoding) -> str:
    """Return a token for the codec server of the settings."""
    return signing.dumps(
        {
            "aud": conf().codec_server_url.rstrip("/"),
            "user": decoding.user_id,
            "job": decoding.job_id,
            "reason": decoding.reason,
        },
        salt=SALT,
    )


def read(token: str) -> Decoding:
    """Read a token. Raises TokenRefused."""
    try:
        found = signing.loads(token, salt=SALT, max_age=conf().token_s)
    except signing.BadSignature:
        raise TokenRefused("the token is invalid or too old: ask again in the console") from None
    if found["aud"] != conf().codec_server_url.rstrip("/"):
        raise TokenRefused("the token is for another codec server")
    return Decoding(found["user"], found["job"], found["reason"])
