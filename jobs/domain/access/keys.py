"""API keys as text: `ojs_<prefix8>_<secret43>`, and the rights of a key. Spec: contract 31.2."""

import re
import secrets
from dataclasses import dataclass
from fnmatch import fnmatchcase

from jobs.domain.access.hashers import hashed

PATTERN = re.compile(r"ojs_([a-z0-9]{8})_([A-Za-z0-9_-]{43})")
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"

REGION_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,63}")

SCOPES = frozenset(
    {
        "ojs:data:enqueue", "ojs:data:fetch", "ojs:data:read", "ojs:data:cancel",
        "ojs:admin:read", "ojs:admin:write", "ojs:admin:purge",
        "ojs:webhooks:write", "ojs:federation:write",
    }
)  # fmt: skip
GROUPS = {
    "ojs:data:write": frozenset({"ojs:data:enqueue", "ojs:data:fetch", "ojs:data:cancel"}),
    "producer": frozenset({"ojs:data:enqueue"}),
    "worker": frozenset({"ojs:data:fetch"}),
    "operator": frozenset(
        {"ojs:data:enqueue", "ojs:data:cancel", "ojs:data:read", "ojs:admin:read"}
    ),
    "admin": SCOPES,
}


def make(hasher: str = "sha256") -> tuple[str, str, bytes]:
    """Return a new key as (its text, prefix, hash of the secret); only the text gives access."""
    prefix = "".join(secrets.choice(ALPHABET) for _ in range(8))
    text, secret_hash = renew(prefix, hasher)
    return text, prefix, secret_hash


def renew(prefix: str, hasher: str = "sha256") -> tuple[str, bytes]:
    """Return a new secret for a prefix as (text of the key, hash of the secret)."""
    secret = secrets.token_urlsafe(32)
    return f"ojs_{prefix}_{secret}", hashed(secret, hasher)


def shown(prefix: str) -> str:
    """Return the part of a key that may be shown."""
    return f"ojs_{prefix}_…"


def split(text: str) -> tuple[str, str] | None:
    """Return (prefix, secret), None when `text` is not a key."""
    match = PATTERN.fullmatch(text)
    return (match[1], match[2]) if match else None


def expand(names: list[str]) -> frozenset[str]:
    """Convert scopes and role names to scopes. Raises ValueError naming an unknown one."""
    granted: set[str] = set()
    for name in names:
        if name not in SCOPES and name not in GROUPS:
            raise ValueError(f"{name!r} is neither a scope nor a role")
        granted |= GROUPS.get(name, {name})
    return frozenset(granted)


@dataclass(frozen=True, slots=True)
class Grant:
    """The rights of a principal; empty globs allow all, and None binds to nothing."""

    scopes: frozenset[str]
    tenant: str | None = None
    queues_enqueue: tuple[str, ...] = ()
    queues_fetch: tuple[str, ...] = ()
    job_types: tuple[str, ...] = ()
    pool: str | None = None
    region: str | None = None  # the only region that it may act for


def allowed(name: str, globs: tuple[str, ...]) -> bool:
    """Return whether a queue or type is covered."""
    return not globs or any(fnmatchcase(name, glob) for glob in globs)
