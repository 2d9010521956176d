"""Reasons why a call to a region had no answer, in texts without foreign content.

Operators, producers, events, logs and metrics show them. The text of an exception could contain
bytes of the other side, or an address of a network that the caller must not see.
"""

from enum import StrEnum


class Reason(StrEnum):
    """The only texts about a call without an answer."""

    MISCONFIGURED = "its entry in the registry is not valid"
    NOT_ALLOWED = "its address is not allowed: see OJS_FEDERATION_ALLOW_PRIVATE"
    UNREADABLE = "its credentials cannot be read from the place in its token_ref"
    NOT_SET = "its credentials must be set again: auth.token"
    NO_ADDRESS = "its host name has no address"
    NO_CONNECTION = "no connection"
    NO_TLS = "no TLS connection"
    NO_TRUST = "its certificate is not trusted"
    BUSY = "too many requests to it are in progress"
    TOO_LATE = "no answer in time"
    TOO_LONG = "its answer is too long"
    BROKEN = "its answer is incomplete"
    BREAKER_OPEN = "circuit breaker open"
    FAULT = "an error of this server: see its log"
    CHANGED = "its entry in the registry was changed"
