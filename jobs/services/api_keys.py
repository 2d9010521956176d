"""API keys: make, revoke, look up. Spec: contract 31.2.

The hot path asks a cache of a few seconds, so a revoked key stops working within that time in
every process and a request costs no statement.
"""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from time import monotonic

from django.db.models import Q
from django.utils import timezone

from jobs.conf import conf
from jobs.domain import keys
from jobs.models import ApiKey

CACHED = 20_000  # keys, known and unknown; the oldest leave first
USE_NOTED = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Known:
    """One key as cached; `why_not` says why it opens nothing."""

    name: str
    secret_hash: bytes
    grant: keys.Grant
    why_not: str | None
    expires_at: datetime | None


class KeyCache:
    """Keys by prefix, each for `conf().api_key_cache_ms`; unknown prefixes are cached too."""

    def __init__(self) -> None:
        """Start empty."""
        self._entries: OrderedDict[str, tuple[float, Known | None]] = OrderedDict()
        self._lock = Lock()

    def get(self, prefix: str) -> Known | None:
        """Return the key with this prefix, reading it when the cache is too old."""
        entry = self._entries.get(prefix)
        now = monotonic()
        if entry and now < entry[0]:
            return entry[1]
        known = _read(prefix)
        with self._lock:
            self._entries[prefix] = (now + conf().api_key_cache_ms / 1000, known)
            self._entries.move_to_end(prefix)
            while len(self._entries) > CACHED:
                self._entries.popitem(last=False)
        return known

    def clear(self) -> None:
        """Forget all, for tests and after a change in this process."""
        with self._lock:
            self._entries.clear()


cache = KeyCache()


def _read(prefix: str) -> Known | None:
    key = ApiKey.objects.filter(prefix=prefix).first()
    if key is None:
        return None
    _note_use(key)
    why_not = "key_revoked" if key.revoked_at else None
    grant = keys.Grant(
        keys.expand(key.scopes),
        key.tenant,
        tuple(key.queues_enqueue),
        tuple(key.queues_fetch),
        tuple(key.job_types),
    )
    return Known(key.name, bytes(key.secret_hash), grant, why_not, key.expires_at)


def _note_use(key: ApiKey) -> None:
    stale = Q(last_used_at=None) | Q(last_used_at__lt=timezone.now() - USE_NOTED)
    if key.revoked_at is None:
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=timezone.now())


@dataclass(frozen=True, slots=True)
class NewKey:
    """What a key is made with; scopes may be role names."""

    name: str
    scopes: tuple[str, ...]
    tenant: str | None = None
    queues_enqueue: tuple[str, ...] = ()
    queues_fetch: tuple[str, ...] = ()
    job_types: tuple[str, ...] = ()
    expires_at: datetime | None = None
    created_by: str = ""


def create(new: NewKey) -> tuple[ApiKey, str]:
    """Store a key; returns it and its text, which is shown once. Raises ValueError on a scope."""
    text, prefix, secret_hash = keys.make()
    key = ApiKey.objects.create(
        name=new.name,
        prefix=prefix,
        secret_hash=secret_hash,
        scopes=sorted(keys.expand(list(new.scopes))),
        tenant=new.tenant,
        queues_enqueue=list(new.queues_enqueue),
        queues_fetch=list(new.queues_fetch),
        job_types=list(new.job_types),
        expires_at=new.expires_at,
        created_by=new.created_by,
    )
    return key, text


def is_named(name: str) -> bool:
    """Tell whether a key of this name opens anything."""
    not_over = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return ApiKey.objects.filter(not_over, name=name, revoked_at=None).exists()


def revoke(prefix: str) -> bool:
    """Revoke a key for good; returns whether it was valid before."""
    changed = ApiKey.objects.filter(prefix=prefix, revoked_at=None).update(
        revoked_at=timezone.now()
    )
    cache.clear()
    return bool(changed)
