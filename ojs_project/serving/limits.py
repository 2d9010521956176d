"""Deadlines and bounds of the connections of one HTTP process. Spec: contract 31.3."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from django.core.exceptions import ImproperlyConfigured


@dataclass(frozen=True, slots=True)
class Limits:
    """The time bounds of a client, and the bounds of a process for all clients together."""

    header_timeout_ms: int = 30_000  # from the first byte of a request to the end of its headers
    body_timeout_ms: int = 60_000  # from the end of the headers to the end of the body.
    idle_timeout_ms: int = 120_000  # between two requests, and before the first
    write_timeout_ms: int = 60_000  # without progress, while the client reads a response
    queue_timeout_ms: int = 30_000  # while a request waits for a thread
    queue: int = 1_024  # requests that wait for a thread
    connections: int = 4_096
    client_connections: int = 100  # of one address that is no trusted proxy
    body_bytes: int = 134_217_728  # of all requests that are not answered yet
    response_bytes: int = 268_435_456  # of all responses that clients have not read yet

    max_body_bytes: int = 10_485_760  # of one request, from OJS_MAX_BODY_BYTES

    @classmethod
    def of(cls, chosen: Mapping[str, int]) -> Self:
        """Read `settings.OJS_HTTP`. Raises ImproperlyConfigured."""
        for name, value in chosen.items():
            if value < 1:
                raise ImproperlyConfigured(f"OJS_HTTP_{name} is {value}: use 1 or more")
        return cls(**{name.lower(): value for name, value in chosen.items()})
