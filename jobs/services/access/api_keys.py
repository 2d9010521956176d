"""API keys: make, rotate, revoke, look up. Spec: contract 31.2.

The hot path reads a cache of a few seconds, so a request costs no statement. A revoked key stops
working within this time in every process. Making, rotating and revoking add an audit entry.
"""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from time import monotonic

from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from jobs.conf import conf
from jobs.database import atomic
from jobs.domain.access import keys
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.dispatch.claim import POOL_PATTERN
from jobs.models import ApiKey
from jobs.services.access.verified import verify
from jobs.services.audit.audit import audited, record

GRACE = timedelta(days=1)  # how long the secret before a rotation is still accepted
CACHED = 20_000  # entries, also of unknown keys; the oldest leave first
USE_NOTED = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class CachedKey:
    """An API key as cached; `why_not` is the reason for which it is refused."""

    name: str
    secret_hash: bytes
    grant: keys.Grant
    why_not: str | None
    expires_at: datetime | None
    previous_hash: bytes | None = None
    previous_valid_until: datetime | None = None

    def is_opened_by(self, secret: str, now: datetime) -> bool:
        """Return whether this is the secret, or the previous secret while it is still accepted."""
        if verify(secret, self.secret_hash):
            return True
        if self.previous_hash is None or self.previous_valid_until is None:
            return False
        return now < self.previous_valid_until and verify(secret, self.previous_hash)


class KeyCache:
    """Keys by prefix, each for `conf().api_key_cache_ms`; unknown prefixes are cached too."""

    def __init__(self) -> None:
        """Start empty."""
        self._entries: OrderedDict[str, tuple[float, CachedKey | None]] = OrderedDict()
        self._lock = Lock()

    def get(self, prefix: str) -> CachedKey | None:
        """Return the key with this prefix; read it when the cache entry is too old."""
        return self._get(prefix, prefix=prefix)

    def of_subject(self, subject: str) -> CachedKey | None:
        """Return the key that belongs to certificates with this subject."""
        return self._get(f"={subject}", tls_subject=subject, revoked_at=None)

    def _get(self, entered: str, **wanted: str | None) -> CachedKey | None:
        entry = self._entries.get(entered)
        now = monotonic()
        if entry and now < entry[0]:
            return entry[1]
        key = _read(**wanted)
        with self._lock:
            self._entries[entered] = (now + conf().api_key_cache_ms / 1000, key)
            self._entries.move_to_end(entered)
            while len(self._entries) > CACHED:
                self._entries.popitem(last=False)
        return key

    def clear(self) -> None:
        """Drop all entries, for tests and after a change in this process."""
        with self._lock:
            self._entries.clear()


cache = KeyCache()


def _read(**wanted: str | None) -> CachedKey | None:
    key = ApiKey.objects.filter(**wanted).first()
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
        key.pool,
        key.region,
    )
    previous = None if key.previous_hash is None else bytes(key.previous_hash)
    return CachedKey(
        key.name,
        bytes(key.secret_hash),
        grant,
        why_not,
        key.expires_at,
        previous,
        key.previous_valid_until,
    )


def _note_use(key: ApiKey) -> None:
    stale = Q(last_used_at=None) | Q(last_used_at__lt=timezone.now() - USE_NOTED)
    if key.revoked_at is None:
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=timezone.now())


@dataclass(frozen=True, slots=True)
class NewKey:
    """The members of a new key; scopes may be role names."""

    name: str
    scopes: tuple[str, ...]
    tenant: str | None = None
    queues_enqueue: tuple[str, ...] = ()
    queues_fetch: tuple[str, ...] = ()
    job_types: tuple[str, ...] = ()
    expires_at: datetime | None = None
    tls_subject: str | None = None
    pool: str | None = None
    region: str | None = None


def create(new: NewKey, caller: Caller = SYSTEM) -> tuple[ApiKey, str]:
    """Store a key; returns it and its text, which is shown once.

    Raises ValueError on an unknown scope, on an unknown pool or region, and on a subject that
    another key has.
    """
    if new.pool is not None and not POOL_PATTERN.fullmatch(new.pool):
        raise ValueError(f"{new.pool!r} is not the name of a pool")
    if new.region is not None and not keys.REGION_PATTERN.fullmatch(new.region):
        raise ValueError(f"{new.region!r} is not the id of a region")
    scopes = sorted(keys.expand(list(new.scopes)))
    if new.tls_subject and is_subject_taken(new.tls_subject):
        raise ValueError(f"another key has the subject {new.tls_subject!r}")
    text, prefix, secret_hash = keys.make(conf().apikey_hasher)
    with audited(caller, "key.created", keys.shown(prefix)) as data:
        data.update(name=new.name, scopes=scopes, tenant=new.tenant, pool=new.pool)
        data.update(region=new.region)
        key = ApiKey.objects.create(
            name=new.name,
            prefix=prefix,
            secret_hash=secret_hash,
            scopes=scopes,
            tenant=new.tenant,
            queues_enqueue=list(new.queues_enqueue),
            queues_fetch=list(new.queues_fetch),
            job_types=list(new.job_types),
            pool=new.pool,
            region=new.region,
            expires_at=new.expires_at,
            tls_subject=new.tls_subject or None,
            created_by=caller.name,
        )
    return key, text


def is_subject_taken(subject: str) -> bool:
    """Return whether a valid key belongs to certificates with this subject."""
    return ApiKey.objects.filter(tls_subject=subject, revoked_at=None).exists()


def page(
    *, containing: str = "", with_ended: bool = False, limit: int, offset: int
) -> tuple[list[ApiKey], int]:
    """List keys by name, only valid keys unless `with_ended`; a page and the total."""
    found = ApiKey.objects.filter(name__icontains=containing)
    if not with_ended:
        found = found.filter(_valid())
    return list(found.order_by("name", "id")[offset : offset + limit]), found.count()


def is_named(name: str) -> bool:
    """Return whether a valid key has this name."""
    return ApiKey.objects.filter(_valid(), name=name).exists()


def _valid() -> Q:
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=timezone.now()))


def rotate(prefix: str, grace: timedelta = GRACE, caller: Caller = SYSTEM) -> str | None:
    """Give a key a new secret; returns its text, which is shown once; None: no valid key.

    The previous secret is accepted for `grace`, an older secret no longer. All other members stay.
    """
    text, secret_hash = keys.renew(prefix, conf().apikey_hasher)
    with atomic():
        changed = ApiKey.objects.filter(_valid(), prefix=prefix).update(
            previous_hash=F("secret_hash"),
            previous_valid_until=Now() + grace,
            secret_hash=secret_hash,
        )
        if changed:
            data = {"grace_s": round(grace.total_seconds())}
            record(caller, "key.rotated", keys.shown(prefix), data=data)
    cache.clear()
    return text if changed else None


def revoke(prefix: str, caller: Caller = SYSTEM) -> bool:
    """Revoke a key for good, with both of its secrets; returns whether it was valid before."""
    with atomic():
        unrevoked = ApiKey.objects.filter(prefix=prefix, revoked_at=None)
        changed = unrevoked.update(revoked_at=timezone.now())
        if changed:
            record(caller, "key.revoked", keys.shown(prefix))
    cache.clear()
    return bool(changed)
