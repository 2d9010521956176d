"""The core's settings: `settings.OJS` read once into a frozen object with defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Conf:
    """Names are the keys of `settings.OJS` in lower case; durations are milliseconds."""

    auth: str = "apikey"  # or "off"
    allow_insecure: bool = False
    allow_reset: bool = False
    test_directives: bool = False
    metrics_public: bool = False
    extensions: tuple[str, ...] = ()
    enqueue_middleware: tuple[str, ...] = ()
    execution_middleware: tuple[str, ...] = ()
    direct_database: str = "default"  # alias of a connection past any pooler
    docs_url: str = "https://openjobspec.org/errors/"
    homepage: str = "https://openjobspec.org/"
    default_visibility_ms: int = 1_800_000
    worker_silence_ms: int = 30_000
    shutdown_grace_ms: int = 30_000
    api_key_cache_ms: int = 3_000
    max_envelope_bytes: int = 1_048_576
    max_body_bytes: int = 10_485_760
    max_meta_bytes: int = 65_536
    max_result_bytes: int = 1_048_576
    max_batch: int = 10_000


@cache
def conf() -> Conf:
    """Read the settings; unknown keys are reported by `checks.py`, not here."""
    return from_mapping(getattr(settings, "OJS", {}))


def from_mapping(raw: Mapping[str, Any]) -> Conf:
    """Build a Conf from upper-case keys, sequences as tuples."""
    known = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in known}
    chosen |= {key: tuple(value) for key, value in chosen.items() if isinstance(value, list)}
    return Conf(**chosen)
